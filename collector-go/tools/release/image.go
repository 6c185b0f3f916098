package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nobody is the user that the image's process runs as: no system's.
const nobody = 65532

const dataDir = "/var/lib/bullet-metrics"

// writeImage writes an image of all architectures, made of nothing but the program and its licences, as an OCI image
// layout in a tar.
func (r *release) writeImage() error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		image, err := r.image(arch)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index,
			mutate.IndexAddendum{Add: image,
				Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	dir := filepath.Join(r.stage, "oci")
	written, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	name := program + ":" + r.version
	if err := written.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": name, // podman and skopeo go by this one, Docker by the next
		"io.containerd.image.name":          "docker.io/library/" + name,
	})); err != nil {
		return err
	}
	var entries []entry
	if err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if d.IsDir() {
			entries = append(entries, entry{name: path + "/", mode: 0o755})
			return nil
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		entries = append(entries, entry{name: path, content: content, mode: 0o644})
		return err
	}); err != nil {
		return err
	}
	packed, err := archive(r.time, entries)
	if err != nil {
		return err
	}
	return r.write(r.named(program+"_VERSION_oci.tar"), packed, 0o644)
}

// image is that of one architecture.
func (r *release) image(arch string) (v1.Image, error) {
	var entries []entry
	for _, dir := range []string{"usr/", "usr/bin/", "usr/share/", "usr/share/doc/", "usr/share/doc/bullet-metrics/",
		"var/", "var/lib/"} {
		entries = append(entries, entry{name: dir, mode: 0o755})
	}
	entries = append(entries, entry{name: "var/lib/bullet-metrics/", mode: 0o700, owner: nobody})
	for _, f := range []struct {
		from, to string
		mode     int64
	}{
		{program, "usr/bin/bullet-metrics", 0o755},
		{"LICENSE", "usr/share/doc/bullet-metrics/copyright", 0o644},
		{noticesFile, "usr/share/doc/bullet-metrics/" + noticesFile, 0o644},
	} {
		content, err := os.ReadFile(filepath.Join(r.staged(arch), f.from))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: f.to, content: content, mode: f.mode})
	}
	packed, err := archive(r.time, entries)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed)),
			nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "make release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User: "65532:65532", Entrypoint: []string{"/usr/bin/bullet-metrics"},
		Cmd: []string{"serve", "--data-dir=" + dataDir}, WorkingDir: dataDir,
		Volumes: map[string]struct{}{dataDir: {}}, ExposedPorts: map[string]struct{}{"4320/tcp": {}, "9320/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": program, "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.source":   home,
			"org.opencontainers.image.created":  r.time.Format("2006-01-02T15:04:05Z"),
		},
	}
	return mutate.ConfigFile(image, config)
}
