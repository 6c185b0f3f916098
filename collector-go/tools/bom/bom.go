// Package bom holds bills of materials: what a program or a jar is made of, as CycloneDX 1.6 in JSON. It knows how to
// read, write and judge one and how to make one of a Go program. It will never know what is wrong with a part.
package bom

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// BOM is a bill of materials, as much of CycloneDX as we write or read: https://cyclonedx.org/docs/1.6/json/.
type BOM struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    Metadata    `json:"metadata"`
	Components  []Component `json:"components"`
}

// Metadata is what the bill is of.
type Metadata struct {
	Component Component `json:"component"`
}

// Component is one part.
type Component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Group      string     `json:"group,omitempty"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"` // https://github.com/package-url/purl-spec
	Hashes     []Hash     `json:"hashes,omitempty"`
	Properties []Property `json:"properties,omitempty"`
}

// Package is its package URL without qualifiers, such as the type of its file.
func (c Component) Package() string {
	purl, _, _ := strings.Cut(c.PURL, "?")
	return purl
}

// Hash is of a part's file, in hexadecimal digits.
type Hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// Property is what CycloneDX has no field for.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// types of components, by the schema.
var types = []string{"application", "framework", "library", "container", "platform", "operating-system", "device",
	"device-driver", "firmware", "file",
	"machine-learning-model", "data", "cryptographic-asset"}

// Read reads and judges a bill.
func Read(path string) (BOM, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return BOM{}, err
	}
	var b BOM
	if err := json.Unmarshal(text, &b); err != nil {
		return BOM{}, fmt.Errorf("%s: %w", path, err)
	}
	if err := b.Validate(); err != nil {
		return BOM{}, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// Validate holds a bill to what CycloneDX's schema requires, and to what makes it of use: parts that have a version and
// a package URL. All faults are in the error.
func (b BOM) Validate() error {
	var faults []error
	if b.Format != "CycloneDX" {
		faults = append(faults, fmt.Errorf("bomFormat is %q instead of CycloneDX", b.Format))
	}
	if b.SpecVersion != "1.6" {
		faults = append(faults, fmt.Errorf("specVersion is %q instead of 1.6", b.SpecVersion))
	}
	if b.Version < 1 {
		faults = append(faults, fmt.Errorf("version is %d: it counts from 1", b.Version))
	}
	if len(b.Components) == 0 {
		faults = append(faults, errors.New("it has no components"))
	}
	refs := map[string]bool{}
	for _, c := range append([]Component{b.Metadata.Component}, b.Components...) {
		if err := c.validate(); err != nil {
			faults = append(faults, fmt.Errorf("component %q: %w", c.Name, err))
		}
		if refs[c.Ref] {
			faults = append(faults, fmt.Errorf("component %q: another has its bom-ref %q", c.Name, c.Ref))
		}
		refs[c.Ref] = true
	}
	return errors.Join(faults...)
}

func (c Component) validate() error {
	var faults []error
	if !slices.Contains(types, c.Type) {
		faults = append(faults, fmt.Errorf("%q is no type of a component", c.Type))
	}
	for _, field := range []struct{ name, value string }{{"name", c.Name}, {"version", c.Version}, {"bom-ref", c.Ref}} {
		if field.value == "" {
			faults = append(faults, fmt.Errorf("it has no %s", field.name))
		}
	}
	if !strings.HasPrefix(c.PURL, "pkg:") || !strings.Contains(c.PURL, "@") {
		faults = append(faults, fmt.Errorf("%q is no package URL with a version", c.PURL))
	}
	for _, h := range c.Hashes {
		if h.Algorithm == "" || h.Content == "" {
			faults = append(faults, errors.New("a hash of it lacks its algorithm or its digits"))
		}
	}
	return errors.Join(faults...)
}

// Write writes a bill that is valid.
func (b BOM) Write(path string) error {
	if err := b.Validate(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
