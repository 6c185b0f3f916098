// Package examine collects the facts for package doctor. It reads the jar, the settings and the logs, connects to
// ports, and queries Nimbus and a running collector. It must not judge anything: if something cannot be read, the
// error is part of the facts. Each file collects one kind of fact.
package examine

import (
	"archive/zip"
	"maps"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
)

// foreign are packages of which the topology may have another version.
var foreign = map[string]string{"io/grpc/": "io.grpc", "io/netty/": "io.netty",
	"com/google/protobuf/": "com.google.protobuf", "com/google/common/": "com.google.common"}

// Jar examines a jar. It reads only the names of the entries and loads no class, so that it is safe for a jar of any
// origin. An error is stored in Err.
func Jar(path string) *doctor.Jar {
	j := &doctor.Jar{Path: path}
	file, err := zip.OpenReader(path)
	if err != nil {
		j.Err = err
		return j
	}
	defer file.Close()
	there, visible := map[string]bool{}, map[string]bool{}
	for _, entry := range file.File {
		name, isClass := strings.CutSuffix(unversioned(entry.Name), ".class")
		if !isClass {
			continue
		}
		j.Classes++
		there[strings.ReplaceAll(name, "/", ".")] = true
		for prefix, of := range foreign {
			if strings.HasPrefix(name, prefix) {
				visible[of] = true
			}
		}
	}
	j.Missing = slices.DeleteFunc(slices.Clone(doctor.Classes), func(class string) bool { return there[class] })
	j.Visible = slices.Sorted(maps.Keys(visible))
	return j
}

// unversioned returns an entry's name without META-INF/versions/N/, where multi-release jars have classes for newer
// Java releases.
func unversioned(name string) string {
	if rest, found := strings.CutPrefix(name, "META-INF/versions/"); found {
		if _, class, found := strings.Cut(rest, "/"); found {
			return class
		}
	}
	return name
}
