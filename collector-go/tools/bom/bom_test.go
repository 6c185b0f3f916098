package bom

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func good() BOM {
	return BOM{Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   Metadata{Component: component("application", "golang", "ours", "1.0")},
		Components: []Component{component("library", "golang", "example.org/a", "v1.2.3+incompatible")}}
}

func TestWhatTheSchemaRequiresIsRequired(t *testing.T) {
	require.NoError(t, good().Validate())
	for fault, spoil := range map[string]func(*BOM){
		"bomFormat is":                  func(b *BOM) { b.Format = "" },
		"specVersion is":                func(b *BOM) { b.SpecVersion = "1.0" },
		"counts from 1":                 func(b *BOM) { b.Version = 0 },
		"no components":                 func(b *BOM) { b.Components = nil },
		"is no type of a component":     func(b *BOM) { b.Components[0].Type = "jar" },
		"has no name":                   func(b *BOM) { b.Components[0].Name = "" },
		"has no version":                func(b *BOM) { b.Metadata.Component.Version = "" },
		"has no bom-ref":                func(b *BOM) { b.Components[0].Ref = "" },
		"is no package URL":             func(b *BOM) { b.Components[0].PURL = "pkg:golang/example.org/a" },
		"another has its bom-ref":       func(b *BOM) { b.Components = append(b.Components, b.Components[0]) },
		"lacks its algorithm or its di": func(b *BOM) { b.Components[0].Hashes = []Hash{{Algorithm: "MD5"}} },
	} {
		b := good()
		spoil(&b)
		assert.ErrorContains(t, b.Validate(), fault)
	}
}

func TestABillIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, good().Write(path))
	read, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, good(), read)

	require.NoError(t, os.WriteFile(path, []byte(`{"bomFormat": "CycloneDX"}`), 0o600))
	_, err = Read(path)
	assert.ErrorContains(t, err, path)
}

// The test is a Go program as well, and the linker wrote into it what it is built of.
func TestTheBillOfAProgram(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	b, err := Program(self, "1.2.3", []string{"pkg:npm/uplot@1.6.32"})
	require.NoError(t, err)
	assert.Equal(t, "pkg:golang/github.com/bullet-metrics/bullet-metrics/collector-go@1.2.3", b.Metadata.Component.PURL)
	assert.Len(t, b.Metadata.Component.Hashes[0].Content, 64)

	found := map[string]Component{}
	for _, c := range b.Components {
		found[c.Name] = c
	}
	assert.Regexp(t, `^pkg:golang/stdlib@\d+\.\d+`, found["stdlib"].PURL)
	assert.Equal(t, "pkg:npm/uplot@1.6.32", found["uplot"].PURL)

	_, err = Program("bom_test.go", "1.2.3", nil)
	assert.ErrorContains(t, err, "what is bom_test.go built of")
}

func TestEveryModuleIsAPartAndTheOneThatReplacesIt(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "example.org/ours"}, Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v1.0.0+incompatible", Sum: "h1:a"},
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0",
			Sum: "h1:c"}},
	}}
	b, err := ofBuild(info, [32]byte{1}, "1.2.3", nil)
	require.NoError(t, err)
	var purls []string
	for _, c := range b.Components {
		purls = append(purls, c.PURL)
	}
	assert.Equal(t, []string{"pkg:golang/stdlib@1.26.8", "pkg:golang/example.org/a@v1.0.0%2Bincompatible",
		"pkg:golang/example.org/c@v2.0.0"}, purls)
	assert.Equal(t, []Property{{Name: "go.sum", Value: "h1:c"}}, b.Components[2].Properties)

	info.Deps[0].Version = ""
	_, err = ofBuild(info, [32]byte{1}, "1.2.3", nil)
	assert.ErrorContains(t, err, "has no version")
}
