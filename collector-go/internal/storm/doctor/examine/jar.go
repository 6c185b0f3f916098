// Package examine collects the facts that package doctor judges: it reads the jar, the settings and the logs, connects
// to ports, asks Nimbus, and queries a running collector. It must not judge anything: what it cannot read becomes part
// of the facts, as an error. Each file collects one kind of fact.
package examine

import (
	"archive/zip"
	"maps"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
)

// foreign are packages that the topology may have in another version; multi-release jars hold them under
// META-INF/versions too.
var foreign = map[string]string{"io/grpc/": "io.grpc", "io/netty/": "io.netty",
	"com/google/protobuf/": "com.google.protobuf",
	"com/google/common/":   "com.google.common"}

// Jar looks into a jar, by the names of its entries alone: no class is loaded, so that a jar of any origin can be
// looked at. What goes wrong is in its Err.
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
	for _, class := range doctor.Classes {
		if !there[class] {
			j.Missing = append(j.Missing, class)
		}
	}
	j.Visible = slices.Sorted(maps.Keys(visible))
	return j
}

// unversioned is an entry's name without META-INF/versions/N/, under which multi-release jars hold classes for newer
// releases of Java.
func unversioned(name string) string {
	if rest, found := strings.CutPrefix(name, "META-INF/versions/"); found {
		if _, class, found := strings.Cut(rest, "/"); found {
			return class
		}
	}
	return name
}
