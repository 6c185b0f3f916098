package forward

import (
	"cmp"
	"slices"
)

// Kind describes a kind of store on the network: the names of its settings, with their help, and how they become a
// protocol. The configuration makes its settings from the registered kinds and validates them by Build. Adding a kind
// therefore changes only its own package and the import that registers it.
type Kind struct {
	// Name stands in the settings' keys, store.KIND.NAME.url.
	Name string
	// Address is what url is the address of, with an example; Receiver whom http_config_file is for.
	Address, Receiver string
	// Settings are its own, beside those that all have.
	Settings []Setting
	// Build makes the protocol's options of where the store is and of the own settings that are set, by name.
	Build func(at Receiver, own map[string]string) Builder
}

// Setting is one of a kind's own settings. If there are Choices, the first one is the default.
type Setting struct {
	Name, Usage string
	Choices     []string
}

// Builder is a protocol's options. Validate is called when the configuration is read, and Protocol when the store is
// opened.
type Builder interface {
	// Validate reports what cannot be; an error begins with the name of the setting to change.
	Validate() error
	// Protocol makes the protocol; it connects to nothing.
	Protocol() (Protocol, error)
}

var kinds []Kind

// Register makes a kind known. A package calls it from init, before the settings are read; it is not safe for
// concurrent use.
func Register(k Kind) { kinds = append(kinds, k) }

// Kinds are those that are registered, in the order of their names.
func Kinds() []Kind {
	return slices.SortedFunc(slices.Values(kinds), func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
}
