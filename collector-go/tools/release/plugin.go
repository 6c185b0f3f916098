package main

import (
	"os"
	"path/filepath"
	"strings"
)

// pom is the plugin's for whoever takes it from a repository: the jar has all that it needs, and Storm brings the rest.
const pom = `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
         xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 http://maven.apache.org/xsd/maven-4.0.0.xsd">
  <modelVersion>4.0.0</modelVersion>
  <groupId>io.github.bulletmetrics</groupId>
  <artifactId>bullet-metrics-storm</artifactId>
  <version>VERSION</version>
  <packaging>jar</packaging>
  <name>Bullet Metrics: the Storm plugin</name>
  <description>A Storm metrics consumer, a worker sampler and a sender, in one relocated jar for every Storm from 1.0.3 on.</description>
  <url>HOME</url>
  <licenses>
    <license>
      <name>Apache-2.0</name>
      <url>https://www.apache.org/licenses/LICENSE-2.0.txt</url>
    </license>
  </licenses>
  <scm>
    <url>HOME</url>
  </scm>
</project>
`

// writePlugin writes the plugin as a Maven repository has it: jar, sources, POM.
func (r *release) writePlugin() error {
	for _, kind := range []string{".jar", "-sources.jar"} {
		jar, err := os.ReadFile(r.jar(kind))
		if err != nil {
			return err
		}
		if err := r.write(r.named(plugin+"-VERSION"+kind), jar, 0o644); err != nil {
			return err
		}
	}
	return r.write(r.named(plugin+"-VERSION.pom"),
		[]byte(strings.NewReplacer("VERSION", r.version, "HOME", home).Replace(pom)), 0o644)
}

// writeExamples writes the examples for compose and Kubernetes, with the release's image.
func (r *release) writeExamples() error {
	for _, name := range []string{"compose.yaml", "kubernetes.yaml"} {
		text, err := os.ReadFile(filepath.Join(r.tree, "collector-go", "packaging", name))
		if err == nil {
			err = r.write(filepath.Join(r.out, name), []byte(strings.ReplaceAll(string(text), "VERSION", r.version)), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
