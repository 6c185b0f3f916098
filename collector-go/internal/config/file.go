package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// LoadFile reads a YAML file into the settings, except those of the keys for which given reports that a flag was set.
// Every fault names the file, the line and the key; an unknown key also the nearest known one. Where the settings stand
// is returned for faults that show later.
func LoadFile(path string, settings []Setting, given func(Setting) bool) (Lines, error) {
	data, err := textfile.Read(path, textfile.Most)
	if err != nil {
		return Lines{}, fmt.Errorf("read the configuration: %w", err)
	}
	return load(path, data, settings, given)
}

func load(path string, data []byte, settings []Setting, given func(Setting) bool) (Lines, error) {
	document, err := yamlfile.Document(path, data)
	if err != nil {
		return Lines{}, err
	}
	l := loader{path: path, settings: map[string]Setting{}, given: given, seen: map[string]int{},
		unread: map[string]bool{}, meant: map[string]bool{}}
	for _, s := range settings {
		l.settings[s.Key] = s
	}
	if document != nil {
		l.mapping("", document)
	}
	maps.DeleteFunc(l.meant, func(key string, _ bool) bool { return l.seen[key] > 0 })
	maps.Copy(l.unread, l.meant)
	return Lines{path, l.seen, slices.Sorted(maps.Keys(l.unread))}, errors.Join(l.faults...)
}

// Lines are where settings stand in a file.
type Lines struct {
	path   string
	of     map[string]int // key -> line
	unread []string       // keys whose values could not be read
}

// Has reports whether the file sets a key.
func (l Lines) Has(key string) bool { return l.of[key] > 0 }

// Locate puts file and line before an error that begins with the key of a setting that the file has, and does so with
// each of several. An error about a setting whose value could not be read is dropped: that was reported, and what holds
// in the setting's place is not what was meant.
func (l Lines) Locate(err error) error {
	// Only what is joined at the top is several faults.
	if several, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint
		var located []error
		for _, one := range several.Unwrap() {
			located = append(located, l.Locate(one))
		}
		return errors.Join(located...)
	}
	if err == nil || slices.ContainsFunc(l.unread, func(key string) bool { return names(err.Error(), key) }) {
		return nil
	}
	best := ""
	for key := range l.of {
		if after, found := strings.CutPrefix(err.Error(), key); found && len(key) > len(best) &&
			(strings.HasPrefix(after, " ") || strings.HasPrefix(after, ":")) {
			best = key
		}
	}
	if best == "" {
		return err
	}
	return fmt.Errorf("%s:%d: %w", l.path, l.of[best], err)
}

// names reports whether a text names a setting, by its key or its flag.
func names(text, key string) bool {
	partOfKey := func(c byte) bool {
		return c == '_' || c == '.' || c == '-' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
	}
	for _, name := range []string{key, "--" + Setting{Key: key}.Flag()} {
		for at, rest := 0, text; ; rest = text[at:] {
			i := strings.Index(rest, name)
			if i < 0 {
				break
			}
			begin := at + i
			at = begin + len(name)
			if (begin == 0 || !partOfKey(text[begin-1])) && (at == len(text) || !partOfKey(text[at])) {
				return true
			}
		}
	}
	return false
}

// loader walks a document and gathers all faults, so that an operator mends a file in one go.
type loader struct {
	path     string
	settings map[string]Setting
	given    func(Setting) bool
	seen     map[string]int  // key -> line
	unread   map[string]bool // keys whose values could not be read
	meant    map[string]bool // keys that unknown ones may be
	faults   []error
}

func (l *loader) fault(node ast.Node, format string, args ...any) {
	l.faults = append(l.faults, fmt.Errorf("%s:%d: %s", l.path, node.GetToken().Position.Line,
		fmt.Sprintf(format, args...)))
}

// mapping reads the keys below a prefix; "a: {b: 1}" and "a.b: 1" mean the same.
func (l *loader) mapping(prefix string, node ast.Node) {
	if _, empty := node.(*ast.NullNode); empty {
		return
	}
	entries, ok := yamlfile.Entries(node)
	if !ok {
		l.fault(node, "%s holds settings, not a value; write \"key: value\" lines below it",
			cmp.Or(strings.TrimSuffix(prefix, "."), "the file"))
		return
	}
	for _, entry := range entries {
		l.entry(prefix+yamlfile.Key(entry), entry)
	}
}

func (l *loader) entry(key string, entry *ast.MappingValueNode) {
	setting, name, known := l.find(key)
	switch {
	case known:
		l.set(key, name, setting, entry)
	case l.isPrefix(key):
		l.mapping(key+".", entry.Value)
	default:
		nearest := l.nearest(key)
		l.meant[nearest] = true
		l.fault(entry, "unknown setting %q; did you mean %q?", key, nearest)
	}
}

// find is the setting of a key, and the name that the key has in NAME's place.
func (l *loader) find(key string) (setting Setting, name string, known bool) {
	if setting, known = l.settings[key]; known && !strings.Contains(key, anyName) {
		return setting, "", true
	}
	parts := strings.Split(key, ".")
	for _, setting := range l.settings {
		if name, ok := fits(strings.Split(setting.Key, "."), parts); ok {
			return setting, name, true
		}
	}
	return Setting{}, "", false
}

func (l *loader) isPrefix(key string) bool {
	for known := range l.settings {
		if strings.HasPrefix(withNames(known, key), key+".") {
			return true
		}
	}
	return false
}

func (l *loader) set(key, name string, setting Setting, entry *ast.MappingValueNode) {
	line := entry.GetToken().Position.Line
	if before, twice := l.seen[key]; twice {
		l.fault(entry, "%s is set twice, first in line %d", key, before)
		return
	}
	l.seen[key] = line
	text, ok := textOf(entry.Value, setting.value.Type())
	if !ok {
		l.unread[key] = true
		l.fault(entry, "%s has a value of the wrong shape; %s", key, setting.Usage)
		return
	}
	if len(text) > mostText {
		l.unread[key] = true
		l.fault(entry, "%s: a value of %d bytes; at most %d are read", key, len(text), mostText)
		return
	}
	if err := l.give(name, setting, text); err != nil {
		l.unread[key] = true
		l.fault(entry, "%s: %s", key, err)
	}
}

// mostText of a value, bytes: a list of files or addresses has some hundred.
const mostText = 64 << 10

// give sets a setting unless a flag did.
func (l *loader) give(name string, setting Setting, text string) error {
	if v, ok := setting.value.(namedValue); ok {
		if v.flags[name+"\x00"+v.key] {
			return nil
		}
		return v.set(l.path, name, text)
	}
	if l.given(setting) {
		return nil
	}
	return setFrom(l.path, setting.value, text)
}

// textOf is a value as a flag would have it: of a setting that takes several, a list joined by commas; of one that
// takes pairs, a mapping as k=v.
func textOf(node ast.Node, kind string) (string, bool) {
	switch n := node.(type) {
	case *ast.SequenceNode:
		switch kind {
		case kindList:
			return joinText(n.Values, item)
		case kindPairs:
			return joinText(n.Values, pairOrText)
		}
	case *ast.MappingNode:
		if kind == kindPairs {
			return joinText(n.Values, pairText)
		}
	case *ast.MappingValueNode:
		if kind == kindPairs {
			return pairText(n)
		}
	default:
		return yamlfile.Scalar(node)
	}
	return "", false
}

// item is one of a list; a blank one would be lost between the commas.
func item(node ast.Node) (string, bool) {
	text, ok := yamlfile.Scalar(node)
	return text, ok && strings.TrimSpace(text) != ""
}

// pairOrText is an item of a list of pairs: `k: v` or "k=v".
func pairOrText(node ast.Node) (string, bool) {
	if n, is := node.(*ast.MappingValueNode); is {
		return pairText(n)
	}
	return yamlfile.Scalar(node)
}

func pairText(n *ast.MappingValueNode) (string, bool) {
	text, ok := yamlfile.Scalar(n.Value)
	return yamlfile.Key(n) + "=" + text, ok
}

func joinText[N ast.Node](nodes []N, one func(N) (string, bool)) (string, bool) {
	var items []string
	for _, node := range nodes {
		text, ok := one(node)
		if !ok {
			return "", false
		}
		items = append(items, text)
	}
	return strings.Join(items, ","), true
}

// nearest is the known key, or group of keys, with the fewest edits to key.
func (l *loader) nearest(key string) string {
	var known []string
	for full := range l.settings {
		known = append(known, prefixes(withNames(full, key))...)
	}
	slices.Sort(known)
	return yamlfile.Nearest(key, known...)
}

// prefixes of "a.b.c" are "a", "a.b" and "a.b.c".
func prefixes(key string) []string {
	var all []string
	for i, r := range key {
		if r == '.' {
			all = append(all, key[:i])
		}
	}
	return append(all, key)
}
