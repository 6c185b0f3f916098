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

// Path is a path in a file that people write, as it stands there; "" is none.
type Path string

// Set reads a path.
func (p *Path) Set(text string) error {
	if err := Check(text); err != nil {
		return err
	}
	*p = Path(text)
	return nil
}

// In is the path as others open it, for the file that it stands in; "" for none.
func (p Path) In(file string) string {
	if p == "" {
		return ""
	}
	return From(file, string(p))
}

// Value is a flag that holds one path or several. It implements pflag.Value.
type Value struct {
	kind  string
	set   func(string) error
	print func() string
}

// Of is a flag of one path, with its default; "" is none.
func Of(path *string, otherwise string) Value {
	*path = otherwise
	set := func(text string) error {
		if err := Check(text); err != nil {
			return err
		}
		*path = text
		return nil
	}
	return Value{"string", set, func() string { return *path }}
}

// Repeated is a flag of one path that may be given several times.
func Repeated(paths *[]string) Value {
	set := func(text string) error {
		if err := Check(text); err != nil {
			return err
		}
		*paths = append(*paths, text)
		return nil
	}
	return Value{"stringArray", set, func() string { return strings.Join(*paths, ",") }}
}

// Several is a flag of paths with commas between them that may be given several times.
func Several(paths *[]string) Value {
	one := Repeated(paths)
	set := func(text string) error {
		for path := range strings.SplitSeq(text, ",") {
			if err := one.set(path); err != nil {
				return err
			}
		}
		return nil
	}
	return Value{"strings", set, one.print}
}

// Set implements pflag.Value.
func (v Value) Set(text string) error { return v.set(text) }

// String implements pflag.Value.
func (v Value) String() string {
	if v.print == nil {
		return ""
	}
	return v.print()
}

// Type implements pflag.Value.
func (v Value) Type() string { return v.kind }
