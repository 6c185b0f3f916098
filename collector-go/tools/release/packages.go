package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages writes the .deb and the .rpm of collector-go/packaging/nfpm.yaml.
func (r *release) writePackages(arch string) error {
	text, err := os.ReadFile(filepath.Join(r.tree, "collector-go", "packaging", "nfpm.yaml"))
	if err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		if err := r.writePackage(text, kind, arch); err != nil {
			return fmt.Errorf("%s for %s: %w", kind, arch, err)
		}
	}
	return nil
}

func (r *release) writePackage(text []byte, kind, arch string) error {
	config, err := nfpm.ParseWithEnvMapping(bytes.NewReader(text), func(name string) string {
		return map[string]string{"VERSION": r.version, "ARCH": arch}[name]
	})
	if err != nil {
		return fmt.Errorf("collector-go/packaging/nfpm.yaml: %w", err)
	}
	info, err := config.Get(kind)
	if err != nil {
		return err
	}
	info.MTime, info.DisableGlobbing = r.time, true
	shared, err := r.shared()
	if err != nil {
		return err
	}
	for _, f := range shared {
		to := "/usr/share/" + f.name
		if kind == "deb" { // Debian's zsh has a directory of its own
			to = strings.Replace(to, "/zsh/site-functions/", "/zsh/vendor-completions/", 1)
		}
		info.Contents = append(info.Contents, &files.Content{Source: "share/" + f.name, Destination: to,
			FileInfo: &files.ContentFileInfo{Mode: 0o644}})
	}
	staged := func(name string) string {
		if name == "" {
			return ""
		}
		return filepath.Join(r.staged(arch), name)
	}
	for _, c := range info.Contents {
		c.Source = staged(c.Source)
		c.FileInfo.MTime = r.time
	}
	for _, script := range []*string{&info.Scripts.PostInstall, &info.Scripts.PreRemove, &info.Scripts.PostRemove} {
		*script = staged(*script)
	}
	packager, err := nfpm.Get(kind)
	if err != nil {
		return err
	}
	nfpm.WithDefaults(info)
	name := packager.ConventionalFileName(info)
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return err
	}
	return r.write(filepath.Join(r.out, name), out.Bytes(), 0o644)
}
