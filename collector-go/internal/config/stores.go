package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/common/config"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
)

// Store is one on the network.
type Store struct {
	URL            string
	HTTPConfigFile string
	Timeout        time.Duration
	MaxSlices      int
	MaxBytes       int64
	Required       bool
	Own            map[string]string // what is set of its kind's own settings
}

// noStores are the kinds, without a store.
func noStores() map[string]map[string]*Store {
	all := map[string]map[string]*Store{}
	for _, kind := range forward.Kinds() {
		all[kind.Name] = map[string]*Store{}
	}
	return all
}

func defaultStore() Store {
	// Prometheus' own; what it sends at once; what all take
	return Store{Timeout: 30 * time.Second, MaxSlices: 2000, MaxBytes: 4 << 20, Own: map[string]string{}}
}

// storeSettings are those of all kinds.
func (c *Config) storeSettings() (all []Setting) {
	for _, kind := range forward.Kinds() {
		add := func(name, usage string, field func(*Store) pflag.Value) {
			key := kind.Name + "." + anyName + "." + name
			all = append(all, Setting{"store." + key, usage, named(c, kind.Name+"."+name, c.Stores[kind.Name],
				defaultStore, field)})
		}
		add("url", "URL of "+kind.Address, func(s *Store) pflag.Value { return text(&s.URL) })
		for _, own := range kind.Settings {
			add(own.Name, own.Usage, func(s *Store) pflag.Value { return s.own(own) })
		}
		add("http_config_file", "file with TLS, credentials and headers for "+kind.Receiver+
			", in the format of Prometheus' http_config", func(s *Store) pflag.Value { return path(&s.HTTPConfigFile) })
		add("timeout", "timeout of a request; 30s if not set", func(s *Store) pflag.Value {
			return duration(&s.Timeout)
		})
		add("max_slices", "maximum number of slices in a request; 2000 if not set", func(s *Store) pflag.Value {
			return integer(&s.MaxSlices)
		})
		add("max_bytes", "maximum size of a request before compression, in bytes; 4MiB if not set", func(s *Store) pflag.Value {
			return size(&s.MaxBytes)
		})
		add("required", "when the journal is full, accept no more samples instead of dropping the backlog of this store; false if not set",
			func(s *Store) pflag.Value { return yesNo(&s.Required) })
	}
	return all
}

func (s *Store) own(setting forward.Setting) pflag.Value {
	return value{"string", func(given string) error {
		if len(setting.Choices) > 0 && !slices.Contains(setting.Choices, given) {
			return fmt.Errorf("%q is not one of %s", given, strings.Join(setting.Choices, ", "))
		}
		blank := strings.TrimSpace(given) == "" || strings.ContainsFunc(given, unicode.IsControl)
		if len(setting.Choices) == 0 && blank {
			return fmt.Errorf("%.100q is empty or contains a control character; set a name, or remove the setting", given)
		}
		s.Own[setting.Name] = given
		return nil
	}, nil}
}

// ownNames are those that feeds and files of the collector's own have.
var ownNames = []string{"embedded", "registry"}

// validateStores returns an error that names what is invalid about the stores.
func (c Config) validateStores() (err error) {
	kindOf := map[string]string{}
	for _, kind := range forward.Kinds() {
		for _, name := range slices.Sorted(maps.Keys(c.Stores[kind.Name])) {
			key := "store." + kind.Name + "." + name
			err = errors.Join(err, c.Stores[kind.Name][name].validate(key, kind))
			if slices.Contains(ownNames, name) {
				err = errors.Join(err, fmt.Errorf("%s: the name %q is reserved; choose another one", key, name))
			}
			if other := kindOf[name]; other != "" {
				err = errors.Join(err, fmt.Errorf("store.%s.%s and %s have the same name: give each store a different one",
					other, name, key))
			}
			kindOf[name] = kind.Name
		}
	}
	switch {
	case !c.Embedded.Enabled && len(kindOf) == 0:
		err = errors.Join(err,
			errors.New("store.embedded.enabled is false, but there is no other store: enable it, or add a network store"))
	case !c.Embedded.Enabled && c.Query.URL == "" && len(c.Rules.Files) > 0:
		err = errors.Join(err,
			errors.New("rules.files requires store.embedded.enabled or query.url, because rules are evaluated over stored slices"))
	}
	return err
}

func (s Store) validate(key string, kind forward.Kind) error {
	err := kind.Build(forward.Receiver{URL: s.URL, HTTP: config.DefaultHTTPClientConfig}, s.Own).Validate()
	if err != nil {
		err = fmt.Errorf("%s.%w", key, err)
	}
	return errors.Join(err, positive(key+".timeout", int64(s.Timeout)), positive(key+".max_slices", int64(s.MaxSlices)),
		positive(key+".max_bytes", s.MaxBytes))
}
