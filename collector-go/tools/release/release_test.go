package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/schema"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	rpm "github.com/sassoftware/go-rpmutils"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/spdxlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// made is a release as make release left it, and its version. DIST is its directory; make test-release sets it.
type made struct{ dir, version string }

func dist(t *testing.T) made {
	dir := os.Getenv("DIST")
	require.NotEmpty(t, dir, "DIST is the release's directory: type make test-release")
	found, err := filepath.Glob(filepath.Join(dir, "*.pom"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return made{dir, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), plugin+"-"), ".pom")}
}

func (m made) read(t *testing.T, pattern string) []byte {
	text, err := os.ReadFile(filepath.Join(m.dir, strings.ReplaceAll(pattern, "VERSION", m.version)))
	require.NoError(t, err)
	return text
}

// untar are the files of a tar by name.
func untar(t *testing.T, r io.Reader) map[string][]byte {
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		assert.Zero(t, header.ModTime.Nanosecond())
		if header.Typeflag == tar.TypeReg {
			files[header.Name], err = io.ReadAll(archive)
			require.NoError(t, err)
		}
	}
}

// tarball are the files of an architecture's tarball, below its one directory.
func (m made) tarball(t *testing.T, arch string) map[string][]byte {
	r, err := gzip.NewReader(bytes.NewReader(m.read(t, program+"_VERSION_linux_"+arch+".tar.gz")))
	require.NoError(t, err)
	files := map[string][]byte{}
	for name, content := range untar(t, r) {
		inside, found := strings.CutPrefix(name, program+"_"+m.version+"_linux_"+arch+"/")
		require.True(t, found, name)
		files[inside] = content
	}
	return files
}

// Every file of a release is in its sums, and a second one of the same commit, made elsewhere, has the same. AGAIN is
// that one's directory.
func TestTwoReleasesAreTheSameToTheByte(t *testing.T) {
	m := dist(t)
	again := os.Getenv("AGAIN")
	require.NotEmpty(t, again, "AGAIN is the second release's directory: type make test-release")
	files, err := os.ReadDir(m.dir)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		if f.Name() != sumsFile {
			names = append(names, f.Name())
		}
	}
	v := m.version
	want := []string{program + "-" + v + "-1.aarch64.rpm", program + "-" + v + "-1.x86_64.rpm", program + "_" + v +
		"_amd64.deb", program + "_" + v + "_arm64.deb",
		program + "_" + v + "_linux_amd64.tar.gz", program + "_" + v + "_linux_arm64.tar.gz", program + "_" + v +
			"_oci.tar", plugin + "-" + v + "-sources.jar",
		plugin + "-" + v + ".jar", plugin + "-" + v + ".pom", "compose.yaml", "kubernetes.yaml",
		billFile}
	assert.ElementsMatch(t, want, names)

	var listed []string
	for line := range strings.Lines(string(m.read(t, sumsFile))) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		listed = append(listed, name)
		for _, dir := range []string{m.dir, again} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			assert.Equal(t, sum, hexSum(text), "%s in %s", name, dir)
		}
	}
	assert.Equal(t, names, listed)
}

func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// The programs are for the machines that their names state, and need nothing of them: no interpreter, no library.
func TestProgramsAreStatic(t *testing.T) {
	m := dist(t)
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		text := m.tarball(t, arch)[program]
		f, err := elf.NewFile(bytes.NewReader(text))
		require.NoError(t, err)
		assert.Equal(t, machine, f.Machine)
		assert.Equal(t, elf.ET_EXEC, f.Type)
		for _, p := range f.Progs {
			assert.NotContains(t, []elf.ProgType{elf.PT_INTERP, elf.PT_DYNAMIC}, p.Type, arch)
		}
		assert.True(t, bytes.Contains(text, []byte(m.version)), "%s has its version", arch)
		info, err := buildinfo.Read(bytes.NewReader(text))
		require.NoError(t, err)
		for _, s := range info.Settings {
			assert.NotContains(t, s.Key, "vcs", "what was built where")
		}
	}
}

// Whatever is linked into the programs has its licence in the notices, and is in the bill of materials.
func TestNothingIsPassedOnWithoutItsLicence(t *testing.T) {
	m := dist(t)
	doc, err := spdxjson.Read(bytes.NewReader(m.read(t, billFile)))
	require.NoError(t, err)
	require.NoError(t, spdxlib.ValidateDocument(doc))
	byPURL, files := map[string]bool{}, map[string]string{}
	for _, p := range doc.Packages {
		for _, ref := range p.PackageExternalReferences {
			byPURL[ref.Locator] = true
		}
		for _, sum := range p.PackageChecksums {
			files[p.PackageName] = sum.Value
		}
	}
	for _, arch := range architectures {
		inside := m.tarball(t, arch)
		notices := string(inside[noticesFile])
		info, err := buildinfo.Read(bytes.NewReader(inside[program]))
		require.NoError(t, err)
		require.Greater(t, len(info.Deps), 50)
		for _, d := range info.Deps {
			d = replaced(d)
			assert.Contains(t, notices, d.Path+" "+d.Version+"\n")
			assert.True(t, byPURL["pkg:golang/"+d.Path+"@"+strings.ReplaceAll(d.Version, "+", "%2B")], d.Path)
		}
		for _, part := range []string{"Go's standard library", "uPlot, in the page", "the page's editor",
			"the plugin's jar"} {
			assert.Contains(t, notices, part)
		}
		assert.Equal(t, hexSum(inside[program]), files[program+"-linux-"+arch])
	}
	assert.Equal(t, hexSum(m.read(t, plugin+"-VERSION.jar")), files[plugin])
	for _, purl := range []string{"pkg:maven/com.google.protobuf/protobuf-java@", "pkg:npm/uplot@", "pkg:golang/std@"} {
		assert.True(t, slices.ContainsFunc(doc.Packages, func(p *v2_3.Package) bool {
			return len(p.PackageExternalReferences) == 1 &&
				strings.HasPrefix(p.PackageExternalReferences[0].Locator, purl)
		}), purl)
	}
	assert.Regexp(t, `^https://.*/spdx/bullet-metrics-`+regexp.QuoteMeta(m.version)+`-[0-9a-f]{64}$`,
		doc.DocumentNamespace)
	b := bill{doc: doc}
	named := doc.DocumentNamespace
	doc.DocumentNamespace = ""
	text, err := b.text()
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(named, hexSum(text)), "the namespace is the content's")
}

// The .rpm, read by another's library than wrote it.
func TestTheRPMIsReadBack(t *testing.T) {
	m := dist(t)
	for arch, of := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		p, err := rpm.ReadRpm(bytes.NewReader(m.read(t, program+"-VERSION-1."+of+".rpm")))
		require.NoError(t, err)
		name, err := p.Header.GetNEVRA()
		require.NoError(t, err)
		assert.Equal(t, []string{program, "0", m.version, "1", of}, []string{name.Name, name.Epoch, name.Version,
			name.Release, name.Arch})
		for tag, script := range map[int]string{rpm.POSTIN: "postinstall", rpm.PREUN: "preremove",
			rpm.POSTUN: "postremove"} {
			want, err := os.ReadFile("../../packaging/scripts/" + script)
			require.NoError(t, err)
			got, err := p.Header.GetString(tag)
			require.NoError(t, err)
			assert.Equal(t, strings.TrimSpace(string(want)), strings.TrimSpace(got), script)
		}
		infos, err := p.Header.GetFiles()
		require.NoError(t, err)
		for _, f := range infos {
			assert.Equal(t, "root", f.UserName(), f.Name())
			if f.Name() == "/etc/bullet-metrics/bullet-metrics.yaml" {
				const config, noReplace = rpm.RPMFILE_CONFIG, rpm.RPMFILE_NOREPLACE
				assert.Equal(t, config|noReplace, f.Flags()&(config|noReplace), "an edited configuration stays")
			}
		}
		inside := m.tarball(t, arch)
		payload, err := p.PayloadReaderExtended()
		require.NoError(t, err)
		got := map[string][]byte{}
		for {
			f, err := payload.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			content, err := io.ReadAll(payload)
			require.NoError(t, err)
			got[f.Name()] = content
		}
		for path, from := range map[string]string{"/usr/bin/bullet-metrics": program,
			"/usr/lib/systemd/system/bullet-metrics.service":     "bullet-metrics.service",
			"/etc/bullet-metrics/bullet-metrics.yaml":            "bullet-metrics.yaml",
			"/usr/share/bullet-metrics/bullet-metrics-storm.jar": plugin + ".jar"} {
			require.NotEmpty(t, got[path], path)
			assert.Equal(t, hexSum(inside[from]), hexSum(got[path]), path)
		}
		for _, shared := range []string{"man/man1/bullet-metrics.1.gz", "man/man1/bullet-metrics-tune-run.1.gz",
			"bash-completion/completions/bullet-metrics", "zsh/site-functions/_bullet-metrics",
			"fish/vendor_completions.d/bullet-metrics.fish"} {
			require.NotEmpty(t, inside["share/"+shared], shared)
			assert.Equal(t, hexSum(inside["share/"+shared]), hexSum(got["/usr/share/"+shared]), shared)
		}
	}
}

// The image has the program of both architectures, and runs it as nobody; the example names it, and is one by compose's
// own schema.
func TestTheImageAndItsExample(t *testing.T) {
	m := dist(t)
	dir := t.TempDir()
	for name, content := range untar(t, bytes.NewReader(m.read(t, program+"_VERSION_oci.tar"))) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	top, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	require.NoError(t, validate.Index(top))
	listed, err := top.IndexManifest()
	require.NoError(t, err)
	require.Len(t, listed.Manifests, 1)
	name := program + ":" + m.version
	assert.Equal(t, name, listed.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
	index, err := top.ImageIndex(listed.Manifests[0].Digest)
	require.NoError(t, err)
	images, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, images.Manifests, len(architectures))
	for _, d := range images.Manifests {
		image, err := index.Image(d.Digest)
		require.NoError(t, err)
		config, err := image.ConfigFile()
		require.NoError(t, err)
		assert.Equal(t, v1.Platform{OS: "linux", Architecture: d.Platform.Architecture},
			v1.Platform{OS: config.OS, Architecture: config.Architecture})
		assert.Equal(t, "65532:65532", config.Config.User)
		layers, err := image.Layers()
		require.NoError(t, err)
		require.Len(t, layers, 1, "from an empty image")
		r, err := layers[0].Uncompressed()
		require.NoError(t, err)
		assert.Equal(t, hexSum(m.tarball(t, config.Architecture)[program]),
			hexSum(untar(t, r)["usr/bin/bullet-metrics"]))
	}

	var example map[string]any
	require.NoError(t, yaml.Unmarshal(m.read(t, "compose.yaml"), &example))
	require.NoError(t, schema.Validate(example))
	collector := example["services"].(map[string]any)["collector"].(map[string]any)
	assert.Equal(t, name, collector["image"])
	for _, port := range collector["ports"].([]any) {
		assert.True(t, strings.HasPrefix(port.(string), "127.0.0.1:"), "without TLS for this machine alone: %v", port)
	}
	collector["portz"] = []any{}
	require.Error(t, schema.Validate(example), "the schema judges")
	assert.Contains(t, string(m.read(t, "kubernetes.yaml")), "image: "+name+"\n")
}

// The plugin as a Maven repository has it.
func TestThePluginsFiles(t *testing.T) {
	m := dist(t)
	var parsed struct {
		GroupID    string `xml:"groupId"`
		ArtifactID string `xml:"artifactId"`
		Version    string `xml:"version"`
	}
	require.NoError(t, xml.Unmarshal(m.read(t, plugin+"-VERSION.pom"), &parsed))
	assert.Equal(t, "io.github.bulletmetrics:"+plugin+":"+m.version, parsed.GroupID+":"+parsed.ArtifactID+":"+
		parsed.Version)

	inside := func(name string) map[string]*zip.File {
		text := m.read(t, name)
		r, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		require.NoError(t, err)
		files := map[string]*zip.File{}
		for _, f := range r.File {
			files[f.Name] = f
		}
		return files
	}
	jar := inside(plugin + "-VERSION.jar")
	manifest, err := jar["META-INF/MANIFEST.MF"].Open()
	require.NoError(t, err)
	text, err := io.ReadAll(manifest)
	require.NoError(t, err)
	assert.Contains(t, string(text), "Implementation-Version: "+m.version+"\r\n")
	assert.Contains(t, inside(plugin+"-VERSION-sources.jar"),
		"io/github/bulletmetrics/storm/BulletMetricsConsumer.java")
}

// All times in a release are the commit's.
func TestNoClockComesIn(t *testing.T) {
	m := dist(t)
	doc, err := spdxjson.Read(bytes.NewReader(m.read(t, billFile)))
	require.NoError(t, err)
	commit, err := time.Parse(time.RFC3339, doc.CreationInfo.Created)
	require.NoError(t, err)
	r, err := gzip.NewReader(bytes.NewReader(m.read(t, program+"_VERSION_linux_amd64.tar.gz")))
	require.NoError(t, err)
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		assert.True(t, commit.Equal(header.ModTime), "%s: %s", header.Name, header.ModTime)
		assert.Empty(t, header.Uname+header.Gname)
	}
}
