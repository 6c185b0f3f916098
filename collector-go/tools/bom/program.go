package bom

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// Program makes the bill of a Go program from what the linker wrote into it: its modules and Go's standard library.
// With names what it carries beside them, by package URL.
func Program(path, version string, with []string) (BOM, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return BOM{}, fmt.Errorf("what is %s built of: %w", path, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return BOM{}, err
	}
	return ofBuild(info, sha256.Sum256(text), version, with)
}

func ofBuild(info *debug.BuildInfo, sum [sha256.Size]byte, version string, with []string) (BOM, error) {
	main := component("application", "golang", info.Main.Path, version)
	main.Hashes = []Hash{{Algorithm: "SHA-256", Content: hex.EncodeToString(sum[:])}}
	b := BOM{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: Metadata{Component: main}}
	b.Components = append(b.Components,
		component("library", "golang", "stdlib", strings.TrimPrefix(info.GoVersion, "go")))
	for _, module := range info.Deps {
		b.Components = append(b.Components, library(module))
	}
	for _, purl := range with {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(purl, "pkg:"), "/")
		name, version, _ := strings.Cut(rest, "@")
		b.Components = append(b.Components, component("library", kind, name, version))
	}
	return b, b.Validate()
}

func library(module *debug.Module) Component {
	if module.Replace != nil {
		module = module.Replace
	}
	c := component("library", "golang", module.Path, module.Version)
	if module.Sum != "" {
		c.Properties = []Property{{Name: "go.sum", Value: module.Sum}}
	}
	return c
}

func component(kind, ecosystem, name, version string) Component {
	purl := "pkg:" + ecosystem + "/" + name + "@" + strings.ReplaceAll(version, "+", "%2B")
	return Component{Type: kind, Ref: purl, Name: name, Version: version, PURL: purl}
}
