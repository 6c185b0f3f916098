package forward

import (
	"cmp"
	"slices"
)

// Kind describes a kind of store on the network: the names and help texts of its settings, and how a protocol is made
// from them. The configuration derives its settings from the registered kinds and validates them with Build. Adding a
// kind therefore only changes its own package and the import that registers it.
type Kind struct {
	// Name is part of the settings' keys, as in store.KIND.NAME.url.
	Name string
	// Address says, with an example, what the setting url is the address of. Receiver names whom http_config_file is
	// for.
	Address, Receiver string
	// Settings are the kind's own settings, in addition to those that all kinds have.
	Settings []Setting
	// Build makes the protocol's options from the store's address and those of the kind's own settings that are set, by
	// name.
	Build func(at Receiver, own map[string]string) Builder
}

// Setting is one of a kind's own settings. If there are Choices, the first one is the default.
type Setting struct {
	Name, Usage string
	Choices     []string
}

// Builder holds a protocol's options. Validate is called when the configuration is read, and Protocol when the store is
// opened.
type Builder interface {
	// Validate returns an error that begins with the name of the setting to change.
	Validate() error
	// Protocol makes the protocol. It does not connect.
	Protocol() (Protocol, error)
}

var kinds []Kind

// Register registers a kind. Packages call it from init, before the settings are read. It is not safe for concurrent
// use.
func Register(k Kind) { kinds = append(kinds, k) }

// Kinds returns the registered kinds, sorted by name.
func Kinds() []Kind {
	return slices.SortedFunc(slices.Values(kinds), func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
}
