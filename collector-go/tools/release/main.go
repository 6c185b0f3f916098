// Command release packs what was built of a commit: tarballs, .deb and .rpm, an image, the plugin's jar with sources
// and POM, examples for compose and Kubernetes, a bill of materials and the sums of all. The same input gives the same
// bytes: no clock, no host, no user comes in. `make release` runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// architectures are those of Go that a release is for.
var architectures = []string{"amd64", "arm64"}

const (
	program = "bullet-metrics"
	plugin  = "bullet-metrics-storm"
	home    = "https://github.com/bullet-metrics/bullet-metrics"
)

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "the release's version")
	epoch := flag.Int64("epoch", 0, "its commit's time, seconds since 1970")
	flag.StringVar(&r.tree, "tree", "", "the commit's files, with the plugin built")
	flag.StringVar(&r.programs, "programs", "", "directory of bullet-metrics by architecture")
	flag.StringVar(&r.share, "share", "", "directory of what goes below /usr/share: man pages and completion scripts")
	flag.StringVar(&r.stage, "stage", "", "directory for what is packed; made, and there before it is a fault")
	flag.StringVar(&r.out, "out", "", "directory of the release; made, and there before it is a fault")
	flag.Parse()
	r.time = time.Unix(*epoch, 0).UTC()
	if err := r.make(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one, and where its parts are.
type release struct {
	version                           string
	time                              time.Time
	tree, programs, share, stage, out string
	notices                           []notice
}

func (r *release) make() error {
	if r.version == "" || r.time.Unix() <= 0 || r.tree == "" || r.programs == "" || r.share == "" || r.stage == "" ||
		r.out == "" || flag.NArg() > 0 {
		return errors.New("all flags are needed; make release gives them")
	}
	for _, dir := range []string{r.stage, r.out} {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	var err error
	if r.notices, err = noticesOf(r.tree); err != nil {
		return err
	}
	for _, arch := range architectures {
		if err := r.lay(arch); err != nil {
			return err
		}
		if err := r.writeTarball(arch); err != nil {
			return err
		}
		if err := r.writePackages(arch); err != nil {
			return err
		}
	}
	for _, write := range []func() error{r.writePlugin, r.writeExamples, r.writeImage, r.writeBill, r.writeSums} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// staged is the directory of what is packed for an architecture.
func (r *release) staged(arch string) string { return filepath.Join(r.stage, arch) }

// lay copies what is packed for an architecture, all of the release's time.
func (r *release) lay(arch string) error {
	dir := r.staged(arch)
	for _, f := range []struct {
		from, to string
		mode     os.FileMode
	}{
		{filepath.Join(r.programs, arch, program), program, 0o755},
		{r.jar(".jar"), plugin + ".jar", 0o644},
		{filepath.Join(r.tree, "collector-go", "packaging", "bullet-metrics.yaml"), "bullet-metrics.yaml", 0o644},
		{filepath.Join(r.tree, "collector-go", "packaging", "bullet-metrics.service"), "bullet-metrics.service", 0o644},
		{filepath.Join(r.tree, "collector-go", "packaging", "bullet-metrics.sysusers"),
			"bullet-metrics.sysusers", 0o644},
		{filepath.Join(r.tree, "collector-go", "packaging", "scripts", "postinstall"), "scripts/postinstall", 0o755},
		{filepath.Join(r.tree, "collector-go", "packaging", "scripts", "preremove"), "scripts/preremove", 0o755},
		{filepath.Join(r.tree, "collector-go", "packaging", "scripts", "postremove"), "scripts/postremove", 0o755},
		{filepath.Join(r.tree, "LICENSE"), "LICENSE", 0o644},
		{filepath.Join(r.tree, "CHANGELOG.md"), "CHANGELOG.md", 0o644},
	} {
		text, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		if err := r.write(filepath.Join(dir, f.to), text, f.mode); err != nil {
			return err
		}
	}
	shared, err := r.shared()
	if err != nil {
		return err
	}
	for _, f := range shared {
		if err := r.write(filepath.Join(dir, "share", f.name), f.content, 0o644); err != nil {
			return err
		}
	}
	return r.write(filepath.Join(dir, noticesFile), []byte(printed(r.notices)), 0o644)
}

// shared returns the files below /usr/share that describe the program, sorted by name. Man pages are compressed, as
// Debian's policy requires.
func (r *release) shared() (all []entry, err error) {
	err = fs.WalkDir(os.DirFS(r.share), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f := entry{name: path, mode: 0o644}
		if f.content, err = os.ReadFile(filepath.Join(r.share, path)); err == nil && strings.HasPrefix(path, "man/") {
			f.name += ".gz"
			f.content, err = gzipped(f.content)
		}
		all = append(all, f)
		return err
	})
	return all, err
}

// write writes a file of the release's time, whatever the process' umask is.
func (r *release) write(path string, text []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, text, mode); err != nil {
		return err
	}
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	return os.Chtimes(path, r.time, r.time)
}

// jar is a file of the plugin as Maven leaves it: ".jar" or "-sources.jar".
func (r *release) jar(kind string) string {
	return filepath.Join(r.tree, "plugin-java", "target", plugin+kind)
}

// named is the path of a file of the release whose name has the version.
func (r *release) named(pattern string) string {
	return filepath.Join(r.out, strings.ReplaceAll(pattern, "VERSION", r.version))
}
