package config

import (
	"maps"
	"strings"
)

// Clone is a copy that shares nothing which reading a file changes.
func (c Config) Clone() Config {
	stores := noStores()
	for kind, all := range c.Stores {
		for name, store := range all {
			one := *store
			one.Own = maps.Clone(store.Own)
			stores[kind][name] = &one
		}
	}
	c.Stores = stores
	return c
}

// Values are all settings by their keys, as text. A store's keys have its name.
func (c Config) Values() map[string]string {
	copied := c.Clone()
	all := map[string]string{}
	for _, s := range Settings(&copied) {
		each, several := s.value.(namedValue)
		if !several {
			all[s.Key] = s.value.String()
			continue
		}
		for name := range c.Stores[strings.Split(s.Key, ".")[1]] {
			all[strings.Replace(s.Key, anyName, name, 1)] = each.field(name).String()
		}
	}
	return all
}
