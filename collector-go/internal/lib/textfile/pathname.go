package textfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestPath is Linux' limit for a path in bytes, including the final NUL.
const longestPath = 4096

// The rule for paths that people write as flags, as settings or in files. A path must not be empty, and a relative
// path in a file is relative to the directory of that file.

// CheckPath refuses a text that cannot be a path. Without this check an empty path would mean the working directory in
// some places and "none" in others.
func CheckPath(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty; set a path, or remove it")
	case strings.TrimSpace(path) == "":
		return fmt.Errorf("the path %q is blank; set a path, or remove it", path)
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl):
		return fmt.Errorf("the path %.200q contains control characters; use a plain path", path)
	case len(path) >= longestPath:
		return fmt.Errorf("the path %.40q... has %d bytes; the maximum is below %d", path, len(path), longestPath)
	}
	return nil
}

// RelativePath returns a path that is written in a file, relative to the directory of that file. An absolute path is
// returned unchanged.
func RelativePath(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// Path is a path as written in a file; "" means none.
type Path string

// Set checks and sets the path.
func (p *Path) Set(text string) error { return checked(func(text string) { *p = Path(text) })(text) }

// In returns the path to open, if it is written in file; "" if there is none.
func (p Path) In(file string) string {
	if p == "" {
		return ""
	}
	return RelativePath(file, string(p))
}

// FlagValue is a flag with one or several paths. It implements pflag.Value.
type FlagValue struct {
	kind  string
	set   func(string) error
	print func() string
}

// checked returns a function that checks a path and passes it to take.
func checked(take func(path string)) func(text string) error {
	return func(text string) error {
		err := CheckPath(text)
		if err == nil {
			take(text)
		}
		return err
	}
}

// PathFlag returns a flag for one path, and sets the path to its default otherwise; "" means none.
func PathFlag(path *string, otherwise string) FlagValue {
	*path = otherwise
	return FlagValue{"string", checked(func(text string) { *path = text }), func() string { return *path }}
}

// RepeatedPathFlag returns a flag for one path that may be given several times.
func RepeatedPathFlag(paths *[]string) FlagValue {
	return FlagValue{"stringArray", checked(func(text string) { *paths = append(*paths, text) }),
		func() string { return strings.Join(*paths, ",") }}
}

// PathListFlag returns a flag for comma-separated paths that may be given several times.
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
