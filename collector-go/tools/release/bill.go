package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/spdxlib"
)

const (
	billFile = "sbom.spdx.json"
	unknown  = "NOASSERTION"
	ours     = "Apache-2.0"
)

// bill is what a release is made of, as SPDX 2.3.
type bill struct {
	doc   *v2_3.Document
	known map[common.ElementID]bool
}

// writeBill writes the bill: each file that runs, and what each contains. Its namespace is that of its content.
func (r *release) writeBill() error {
	b := bill{known: map[common.ElementID]bool{}, doc: &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: program +
			"-" + r.version,
		CreationInfo: &v2_3.CreationInfo{Created: r.time.Format("2006-01-02T15:04:05Z"),
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "Bullet Metrics contributors"}}},
	}}
	page, err := pagePackages(filepath.Join(r.tree, "collector-go", "internal", "serve", "webui", "static", "vendor"))
	if err != nil {
		return err
	}
	for _, arch := range architectures {
		of, err := b.file(filepath.Join(r.programs, arch, program), program+"-linux-"+arch, r.version, "APPLICATION")
		if err != nil {
			return err
		}
		if err := b.modules(of, filepath.Join(r.programs, arch, program)); err != nil {
			return err
		}
		for _, purl := range page {
			b.contains(of, purl, unknown, nil)
		}
	}
	jar, err := b.file(r.jar(".jar"), plugin, r.version, "LIBRARY")
	if err != nil {
		return err
	}
	if err := b.libraries(jar, filepath.Join(r.tree, "plugin-java", "target", "bom.json")); err != nil {
		return err
	}
	if err := spdxlib.ValidateDocument(b.doc); err != nil {
		return fmt.Errorf("%s: %w", billFile, err)
	}
	unnamed, err := b.text()
	if err != nil {
		return err
	}
	b.doc.DocumentNamespace = fmt.Sprintf("%s/spdx/%s-%s-%x", home, program, r.version, sha256.Sum256(unnamed))
	text, err := b.text()
	if err != nil {
		return err
	}
	return r.write(filepath.Join(r.out, billFile), text, 0o644)
}

func (b *bill) text() ([]byte, error) {
	var out bytes.Buffer
	err := spdxjson.Write(b.doc, &out, spdxjson.Indent(" "), spdxjson.EscapeHTML(false))
	return out.Bytes(), err
}

// file adds a file of ours, which the document describes.
func (b *bill) file(path, name, version, purpose string) (common.ElementID, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	id := element(name)
	b.add(&v2_3.Package{
		PackageName: name, PackageSPDXIdentifier: id, PackageVersion: version, PackageFileName: filepath.Base(path),
		PackageHomePage:        home,
		PackageLicenseDeclared: ours, PrimaryPackagePurpose: purpose,
		PackageChecksums: []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(sum[:])}},
	})
	b.relate("DOCUMENT", "DESCRIBES", id)
	return id, nil
}

// contains adds a part by its package URL, once, and that it is in a file of ours.
func (b *bill) contains(of common.ElementID, purl, licence string, sums []common.Checksum) {
	plain, _, _ := strings.Cut(purl, "?")
	name, version, _ := strings.Cut(strings.TrimPrefix(plain[strings.Index(plain, "/")+1:], "/"), "@")
	id := element(plain)
	if !b.known[id] {
		b.add(&v2_3.Package{
			PackageName: name, PackageSPDXIdentifier: id, PackageVersion: strings.ReplaceAll(version, "%2B", "+"),
			PackageLicenseDeclared: licence, PackageChecksums: sums,
			PrimaryPackagePurpose: "LIBRARY",
			PackageExternalReferences: []*v2_3.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl",
				Locator: purl}},
		})
	}
	b.relate(of, "CONTAINS", id)
}

func (b *bill) add(p *v2_3.Package) {
	p.PackageDownloadLocation, p.PackageLicenseConcluded, p.PackageCopyrightText = unknown, unknown, unknown
	b.known[p.PackageSPDXIdentifier] = true
	b.doc.Packages = append(b.doc.Packages, p)
}

func (b *bill) relate(from common.ElementID, how string, to common.ElementID) {
	b.doc.Relationships = append(b.doc.Relationships, &v2_3.Relationship{
		RefA: common.DocElementID{ElementRefID: from}, Relationship: how, RefB: common.DocElementID{ElementRefID: to}})
}

// element is a name as an identifier of SPDX, which has letters, digits, dots and hyphens.
func element(name string) common.ElementID {
	return common.ElementID(regexp.MustCompile(`[^A-Za-z0-9.]+`).ReplaceAllString(name, "-"))
}

// modules adds what the linker wrote into a program: its modules and Go's standard library.
func (b *bill) modules(of common.ElementID, path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	b.contains(of, "pkg:golang/std@"+strings.TrimPrefix(info.GoVersion, "go"), "BSD-3-Clause", nil)
	for _, m := range info.Deps {
		b.contains(of, "pkg:golang/"+replaced(m).Path+"@"+strings.ReplaceAll(replaced(m).Version, "+", "%2B"),
			unknown, nil)
	}
	return nil
}

func replaced(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

// libraries adds what Maven's bill of the plugin's jar lists.
func (b *bill) libraries(of common.ElementID, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var listed struct {
		Components []struct {
			PURL     string
			Licenses []struct{ License struct{ ID string } }
			Hashes   []struct{ Alg, Content string }
		}
	}
	if err := json.Unmarshal(text, &listed); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, c := range listed.Components {
		var licences []string
		for _, l := range c.Licenses {
			if l.License.ID != "" {
				licences = append(licences, l.License.ID)
			}
		}
		if len(licences) == 0 {
			licences = []string{unknown}
		}
		var sums []common.Checksum
		for _, h := range c.Hashes {
			if h.Alg == "SHA-256" {
				sums = append(sums, common.Checksum{Algorithm: common.SHA256, Value: h.Content})
			}
		}
		b.contains(of, c.PURL, strings.Join(licences, " AND "), sums)
	}
	return nil
}

var (
	editorPart = regexp.MustCompile(`(?m)^(pkg:npm\S+) `)
	uplotPart  = regexp.MustCompile(`(?m)^uPlot ([0-9.]+) `)
)

// pagePackages are what the page in the program carries, by package URL.
func pagePackages(vendor string) ([]string, error) {
	licences, err := os.ReadFile(filepath.Join(vendor, "editor", "LICENSES"))
	if err != nil {
		return nil, err
	}
	readme, err := os.ReadFile(filepath.Join(vendor, "uplot", "README.md"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, match := range editorPart.FindAllSubmatch(licences, -1) {
		all = append(all, string(match[1]))
	}
	uplot := uplotPart.FindSubmatch(readme)
	if len(all) == 0 || uplot == nil {
		return nil, fmt.Errorf("%s does not name the page's packages", vendor)
	}
	all = append(all, "pkg:npm/uplot@"+string(uplot[1]))
	slices.Sort(all)
	return slices.Compact(all), nil
}
