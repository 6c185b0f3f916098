// Package pathname holds the one rule for paths that people write, as flags, as settings or in files: a path names
// something, and a relative one in a file starts at that file. It opens nothing.
package pathname

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is what Linux takes for a path, bytes.
const longest = 4096

// Check refuses what names no file and no directory. An empty path would otherwise mean the working directory in one
// place and "none" in another.
func Check(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty; write a path, or leave it out")
	case strings.TrimSpace(path) == "":
		return fmt.Errorf("the path %q is blank; write a path, or leave it out", path)
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl):
		return fmt.Errorf("the path %.200q holds characters that no path of a file should have; write a plain path", path)
	case len(path) >= longest:
		return fmt.Errorf("the path %.40q... has %d bytes; a path has fewer than %d", path, len(path), longest)
	}
	return nil
}

// From is a path as it stands in a file, made relative to the directory of that file. An absolute path stays as it is.
func From(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// Value is a flag or a setting that holds a path. It implements pflag.Value.
type Value struct{ path *string }

// Of makes a Value that stores what is set in path, which holds the default.
func Of(path *string) Value { return Value{path} }

// Set implements pflag.Value.
func (v Value) Set(path string) error {
	if err := Check(path); err != nil {
		return err
	}
	*v.path = path
	return nil
}

// String implements pflag.Value.
func (v Value) String() string {
	if v.path == nil {
		return ""
	}
	return *v.path
}

// Type implements pflag.Value.
func (Value) Type() string { return "string" }
