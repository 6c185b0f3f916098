package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	commonconfig "github.com/prometheus/common/config"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"

	// each kind of store registers itself
	_ "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/influx"
	_ "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// networkStore is a store on the network with the feed that fills it. What becomes of it concerns no other store.
type networkStore struct {
	store  *forward.Store
	feed   *feed.Feed
	feeder task
}

// While a network store is behind, so much goes to it at once: a minute of a small topology, or some requests' worth of
// a large one.
const (
	catchUpTicks  = 60
	catchUpSlices = 20_000
)

// openNetwork opens the stores on the network, in the order of their kinds and names.
func (col *collector) openNetwork(c config.Config, retention *feed.Retention, figures prometheus.Registerer) error {
	for _, kind := range forward.Kinds() {
		for _, name := range slices.Sorted(maps.Keys(c.Stores[kind.Name])) {
			if err := col.openForward(c, kind, name, retention, figures); err != nil {
				return fmt.Errorf("store.%s.%s: %w", kind.Name, name, err)
			}
		}
	}
	return nil
}

// receiver reads how a store is to be called.
func receiver(n *config.Store) (forward.Receiver, error) {
	at := forward.Receiver{URL: n.URL}
	var err error
	at.HTTP, err = httpConfig(n.HTTPConfigFile)
	return at, err
}

// httpConfig reads how somebody is called; "" for the default.
func httpConfig(path string) (commonconfig.HTTPClientConfig, error) {
	if path == "" {
		return commonconfig.DefaultHTTPClientConfig, nil
	}
	text, err := textfile.Read(path, textfile.Most)
	if err != nil {
		return commonconfig.DefaultHTTPClientConfig, fmt.Errorf("http_config_file: %w", err)
	}
	var second yamlfile.SecondDocument
	if err := yamlfile.OneDocument(text); errors.As(err, &second) { // the library would not say that it drops it
		return commonconfig.DefaultHTTPClientConfig, fmt.Errorf("http_config_file: %s:%d: %w", path, second.Line, err)
	}
	read, err := commonconfig.LoadHTTPConfig(string(text))
	if err != nil {
		return commonconfig.DefaultHTTPClientConfig, fmt.Errorf("http_config_file: %w", yamlfile.LibraryFaults(path, err))
	}
	read.SetDirectory(filepath.Dir(path))
	if err := checkSecrets(*read); err != nil {
		return commonconfig.DefaultHTTPClientConfig, fmt.Errorf("http_config_file: %s: %w", path, err)
	}
	return *read, nil
}

// checkSecrets reads the files of tokens and passwords that an http_config names: what is wrong with one would show as
// an error of a header only when something is sent.
func checkSecrets(c commonconfig.HTTPClientConfig) (err error) {
	check := func(key, path string, read func(string) (string, error)) {
		if path == "" {
			return
		}
		if _, bad := read(path); bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", key, bad))
		}
	}
	if c.Authorization != nil {
		read := textfile.Password
		if strings.EqualFold(c.Authorization.Type, "Bearer") { // bearer_token_file comes here too
			read = textfile.Token
		}
		check("authorization.credentials_file", c.Authorization.CredentialsFile, read)
	}
	if c.BasicAuth != nil {
		check("basic_auth.username_file", c.BasicAuth.UsernameFile, textfile.Password)
		check("basic_auth.password_file", c.BasicAuth.PasswordFile, textfile.Password)
	}
	if c.OAuth2 != nil {
		check("oauth2.client_secret_file", c.OAuth2.ClientSecretFile, textfile.Password)
	}
	return err
}

// protocolOf is the language of a store; it connects to nothing.
func protocolOf(kind forward.Kind, n *config.Store) (forward.Protocol, error) {
	at, err := receiver(n)
	if err != nil {
		return nil, err
	}
	return kind.Build(at, n.Own).Protocol()
}

func (col *collector) openForward(c config.Config, kind forward.Kind, name string, retention *feed.Retention,
	figures prometheus.Registerer) error {
	n := c.Stores[kind.Name][name]
	protocol, err := protocolOf(kind, n)
	if err != nil {
		return err
	}
	o := forward.DefaultOptions(name)
	o.MaxSlices, o.MaxBytes, o.Timeout, o.Logger, o.Registerer = n.MaxSlices, int(n.MaxBytes), n.Timeout,
		col.logger, figures
	store, err := forward.Open(filepath.Join(c.DataDir, "stores", name), protocol, o)
	if err != nil {
		return err
	}
	opened := &networkStore{store: store}
	col.network = append(col.network, opened)
	feeding := feed.DefaultOptions(name, filepath.Join(c.DataDir, "feeds"))
	feeding.Slicer, feeding.Registerer, feeding.Logger = slicerOptions(feeding.Slicer, c), figures, col.logger
	feeding.Catalog.MaxSeries = bounded(feeding.Catalog.MaxSeries, 2*c.Memory.Series)
	if n.Required {
		feeding.Transfers = col.desk
	}
	feeding.CatchUpTicks, feeding.FlushSlices = catchUpTicks, catchUpSlices
	if opened.feed, err = feed.New(col.journal, store, retention, feeding); err != nil {
		return err
	}
	if !n.Required {
		retention.MayLag(opened.feed)
	}
	return nil
}

// relieve keeps room in the journal for what comes, at the cost of stores that are too far behind.
func (col *collector) relieve(ctx context.Context) error {
	return eachSecond(func(time.Time) {
		if err := col.retention.Relieve(ctx, col.journal.NearlyFull); err != nil && ctx.Err() == nil {
			col.logger.Warn("the journal is nearly full and could not release what a store lacks", "error", err)
		}
	})(ctx)
}

// startNetwork lets the feeds of the stores on the network run.
func (col *collector) startNetwork() {
	for _, n := range col.network {
		col.run(&n.feeder, n.feed.Run)
	}
	col.run(&col.releaser, col.relieve)
}

// endNetwork gives stores on the network a moment for what they still lack; a store that is down is not waited for,
// since the next start goes on where this one ends.
func (col *collector) endNetwork(ctx context.Context) {
	moment, cancel := context.WithTimeout(ctx, lastMoment)
	defer cancel()
	for _, n := range col.network {
		n.feeder.wait(moment)
	}
	for _, n := range col.network {
		n.feeder.end(ctx)
	}
}

// lastMoment is enough for the slices of a second, which are all that a store lacks that keeps up.
const lastMoment = 2 * time.Second
