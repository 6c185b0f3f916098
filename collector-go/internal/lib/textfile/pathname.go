package textfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestPath is what Linux takes for a path, bytes.
const longestPath = 4096

// The one rule for paths that people write, as flags, as settings or in files: a path names something, and a relative
// path in a file starts at the directory of that file.

// CheckPath refuses what names no file and no directory. An empty path would otherwise mean the working directory in
// one place and "none" in another.
func CheckPath(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty; write a path, or leave it out")
	case strings.TrimSpace(path) == "":
		return fmt.Errorf("the path %q is blank; write a path, or leave it out", path)
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl):
		return fmt.Errorf("the path %.200q holds characters that no path of a file should have; write a plain path", path)
	case len(path) >= longestPath:
		return fmt.Errorf("the path %.40q... has %d bytes; a path has fewer than %d", path, len(path), longestPath)
	}
	return nil
}

// RelativePath is a path as it stands in a file, made relative to the directory of that file. An absolute path stays as
// it is.
func RelativePath(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// Path is a path in a file that people write, as it stands there; "" is none.
type Path string

// Set reads a path.
func (p *Path) Set(text string) error { return checked(func(text string) { *p = Path(text) })(text) }

// In is the path as others open it, for the file that it stands in; "" for none.
func (p Path) In(file string) string {
	if p == "" {
		return ""
	}
	return RelativePath(file, string(p))
}

// FlagValue is a flag that holds one path or several. It implements pflag.Value.
type FlagValue struct {
	kind  string
	set   func(string) error
	print func() string
}

// checked reads a path that names something, and hands it to take.
func checked(take func(path string)) func(text string) error {
	return func(text string) error {
		err := CheckPath(text)
		if err == nil {
			take(text)
		}
		return err
	}
}

// PathFlag is a flag of one path, with its default; "" is none.
func PathFlag(path *string, otherwise string) FlagValue {
	*path = otherwise
	return FlagValue{"string", checked(func(text string) { *path = text }), func() string { return *path }}
}

// RepeatedPathFlag is a flag of one path that may be given several times.
func RepeatedPathFlag(paths *[]string) FlagValue {
	return FlagValue{"stringArray", checked(func(text string) { *paths = append(*paths, text) }),
		func() string { return strings.Join(*paths, ",") }}
}

// PathListFlag is a flag of paths with commas between them that may be given several times.
func PathListFlag(paths *[]string) FlagValue {
	one := RepeatedPathFlag(paths)
	set := func(text string) error {
		for path := range strings.SplitSeq(text, ",") {
			if err := one.set(path); err != nil {
				return err
			}
		}
		return nil
	}
	return FlagValue{"strings", set, one.print}
}

// Set implements pflag.Value.
func (v FlagValue) Set(text string) error { return v.set(text) }

// String implements pflag.Value.
func (v FlagValue) String() string {
	if v.print == nil {
		return ""
	}
	return v.print()
}

// Type implements pflag.Value.
func (v FlagValue) Type() string { return v.kind }
