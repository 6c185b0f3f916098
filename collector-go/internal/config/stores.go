package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

// Network is what the settings of all stores on the network have.
type Network struct {
	URL            string
	HTTPConfigFile string
	Timeout        time.Duration
	MaxSlices      int
	MaxBytes       int64
	Required       bool
}

// RemoteWrite is a receiver of Prometheus remote write.
type RemoteWrite struct {
	Network
	Histograms string // "native" or "classic"
}

// InfluxDB is one of version 2 (Bucket, Org) or 1 (Database, RetentionPolicy).
type InfluxDB struct {
	Network
	Org, Bucket               string
	Database, RetentionPolicy string
}

func defaultNetwork() Network {
	return Network{Timeout: 30 * time.Second, MaxSlices: 2000, MaxBytes: 4 << 20} // Prometheus' own; what it sends at once; what all take
}

func (c *Config) remoteWrite(key string, field func(*RemoteWrite) pflag.Value) pflag.Value {
	fresh := func() RemoteWrite { return RemoteWrite{Network: defaultNetwork(), Histograms: "native"} }
	return named(c, "remote_write."+key, c.RemoteWrite, fresh, field)
}

func (c *Config) influxDB(key string, field func(*InfluxDB) pflag.Value) pflag.Value {
	fresh := func() InfluxDB { return InfluxDB{Network: defaultNetwork()} }
	return named(c, "influxdb."+key, c.InfluxDB, fresh, field)
}

// ownNames are those that feeds and files of the collector's own have.
var ownNames = []string{"embedded", "registry"}

// validateStores returns an error that names what is invalid about the stores.
func (c Config) validateStores() (err error) {
	for _, name := range slices.Sorted(maps.Keys(c.RemoteWrite)) {
		err = errors.Join(err, c.RemoteWrite[name].validate("store.remote_write."+name), ownName("store.remote_write."+name, name))
		if c.InfluxDB[name] != nil {
			err = errors.Join(err, fmt.Errorf("store.remote_write.%s and store.influxdb.%s have one name: give each store its own", name, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.InfluxDB)) {
		err = errors.Join(err, c.InfluxDB[name].validate("store.influxdb."+name), ownName("store.influxdb."+name, name))
	}
	switch {
	case !c.Embedded.Enabled && len(c.RemoteWrite)+len(c.InfluxDB) == 0:
		err = errors.Join(err, errors.New("store.embedded.enabled is false and there is no other store: slices would go nowhere"))
	case !c.Embedded.Enabled && len(c.Rules.Files) > 0:
		err = errors.Join(err, errors.New("rules.files needs store.embedded.enabled: rules are evaluated over the collector's own store"))
	}
	return err
}

func ownName(key, name string) error {
	if slices.Contains(ownNames, name) {
		return fmt.Errorf("%s: %q is a name of the collector's own; choose another", key, name)
	}
	return nil
}

func (n Network) validate(key string) error {
	u, err := url.Parse(n.URL)
	switch {
	case n.URL == "":
		return fmt.Errorf("%s.url is missing", key)
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("%s.url is %q: it must be http://HOST:PORT/PATH or https://HOST:PORT/PATH", key, n.URL)
	case u.User != nil:
		return fmt.Errorf("%s.url must hold no user or password: they belong into %s.http_config_file", key, key)
	}
	return errors.Join(positive(key+".timeout", int64(n.Timeout)), positive(key+".max_slices", int64(n.MaxSlices)),
		positive(key+".max_bytes", n.MaxBytes))
}

func (i InfluxDB) validate(key string) error {
	err := i.Network.validate(key)
	switch {
	case (i.Bucket == "") == (i.Database == ""):
		return errors.Join(err, fmt.Errorf("set one of %s.bucket, for InfluxDB 2, and %s.database, for InfluxDB 1", key, key))
	case i.Database != "" && i.Org != "":
		return errors.Join(err, fmt.Errorf("%s.org belongs to %s.bucket: InfluxDB 1 knows none", key, key))
	case i.Bucket != "" && i.RetentionPolicy != "":
		return errors.Join(err, fmt.Errorf("%s.retention_policy belongs to %s.database: a bucket has its own", key, key))
	}
	return err
}
