package config

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// anyName stands in a key for a name that the operator chooses: there may be several of what the key is about. In the
// file the name stands in its place, "store.remote_write.mimir.url: URL"; on the command line it comes with the value,
// "--store-remote-write-url mimir=URL", and the flag may be given several times.
const anyName = "NAME"

// goodName is a store's: it is a directory's name and a label's value too.
var goodName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,40}$`)

// namedValue is a setting that each of several named things has.
type namedValue struct {
	key   string
	flags map[string]bool // what was set by a flag: name and key
	field func(name string) pflag.Value
}

// Set takes NAME=VALUE, as a flag has it.
func (v namedValue) Set(s string) error {
	name, text, found := strings.Cut(s, "=")
	if !found {
		return fmt.Errorf("%q: use NAME=VALUE, with the name of the store", s)
	}
	v.flags[name+"\x00"+v.key] = true
	return v.set("", name, text)
}

// set takes a value that stands in a file, "" for the command line.
func (v namedValue) set(file, name, text string) error {
	if !goodName.MatchString(name) {
		return fmt.Errorf("%q is not a valid name: use lower-case letters, digits, \"-\" and \"_\", and begin with a letter",
			name)
	}
	if file == "" {
		return v.field(name).Set(text)
	}
	return setFrom(file, v.field(name), text)
}

// String implements pflag.Value: there is nothing named by default.
func (v namedValue) String() string { return "" }

// Type implements pflag.Value.
func (v namedValue) Type() string { return "NAME=VALUE" }

// named makes a setting of the things in all, each of which fresh creates.
func named[T any](c *Config, key string, all map[string]*T, fresh func() T, field func(*T) pflag.Value) pflag.Value {
	return namedValue{key: key, flags: c.flags, field: func(name string) pflag.Value {
		if all[name] == nil {
			one := fresh()
			all[name] = &one
		}
		return field(all[name])
	}}
}

// fits reports whether a key is one of a setting, and with which name in NAME's place. Both are cut at dots.
func fits(known, key []string) (name string, ok bool) {
	if len(known) != len(key) {
		return "", false
	}
	for i := range known {
		if known[i] == anyName {
			name = key[i]
		} else if known[i] != key[i] {
			return "", false
		}
	}
	return name, true
}

// withNames puts the names of a key in the places of NAME of a known one, as far as the key goes.
func withNames(known, key string) string {
	parts, given := strings.Split(known, "."), strings.Split(key, ".")
	for i := range parts {
		if parts[i] == anyName && i < len(given) {
			parts[i] = given[i]
		}
	}
	return strings.Join(parts, ".")
}
