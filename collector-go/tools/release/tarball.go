package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"time"
)

// entry is a file or, where it has no content, a directory of an archive.
type entry struct {
	name    string
	content []byte
	mode    int64
	owner   int
}

// archive is entries as a tar, all of one time and without users' names.
func archive(at time.Time, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: at,
			Uid: e.owner, Gid: e.owner}
		if e.content == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close() // which writes the end
	return out.Bytes(), err
}

func (r *release) writeTarball(arch string) error {
	root := program + "_" + r.version + "_linux_" + arch
	entries := []entry{{name: root + "/", mode: 0o755}}
	for _, f := range []struct {
		name string
		mode int64
	}{
		{program, 0o755}, {plugin + ".jar", 0o644}, {"bullet-metrics.yaml", 0o644}, {"bullet-metrics.service", 0o644},
		{"LICENSE", 0o644}, {"CHANGELOG.md", 0o644}, {noticesFile, 0o644},
	} {
		content, err := os.ReadFile(filepath.Join(r.staged(arch), f.name))
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: root + "/" + f.name, content: content, mode: f.mode})
	}
	shared, err := r.shared()
	if err != nil {
		return err
	}
	for _, f := range shared {
		f.name = root + "/share/" + f.name
		entries = append(entries, f)
	}
	packed, err := archive(r.time, entries)
	if err != nil {
		return err
	}
	compressed, err := gzipped(packed)
	if err != nil {
		return err
	}
	return r.write(filepath.Join(r.out, root+".tar.gz"), compressed, 0o644)
}

// gzipped returns a content compressed, without a time or a name.
func gzipped(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
