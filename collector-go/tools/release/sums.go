package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const sumsFile = "SHA256SUMS"

// writeSums writes what `sha256sum --check` reads, of every other file of the release.
func (r *release) writeSums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range files { // by name
		text, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), f.Name())
	}
	return r.write(filepath.Join(r.out, sumsFile), []byte(sums.String()), 0o644)
}
