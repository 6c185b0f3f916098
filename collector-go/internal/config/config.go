// Package config is the collector's settings: their names, defaults and meaning, one YAML file and the same names as
// flags. It opens no port and no directory.
package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
)

// Config is everything that an operator can set. The keys are those of the YAML file; docs/configuration.md is made
// from the same table (see settings.go).
type Config struct {
	DataDir      string
	Shutdown     time.Duration
	GRPC         GRPC
	HTTP         HTTP
	Disk         Disk
	Slice        Slice
	Journal      Journal
	Embedded     Embedded
	Stores       map[string]map[string]*Store // on the network, by kind and name
	Query        Query
	Rules        Rules
	Alertmanager Alertmanager
	Nimbus       Nimbus
	Limits       Limits
	Memory       Memory // no setting: see FitMemory
	Runs         Runs
	Log          Log
	Pprof        string // address of Go's profiles; "" for none

	flags map[string]bool // what flags have set of what has a name
}

// GRPC is the port that plugins send to.
type GRPC struct {
	Listen       string
	Insecure     bool // lets in everybody, in plain text
	TLSCertFile  string
	TLSKeyFile   string
	ClientCAFile string
	TokenFile    string
	Acknowledge  string // AcknowledgeJournal or AcknowledgeForwarded
}

// When a sender may drop what it sent: when the journal has it, or when it can carry all that is known of its
// topology to another collector, and the store has the rest.
const (
	AcknowledgeJournal   = "journal"
	AcknowledgeForwarded = "forwarded"
)

// HTTP is the port that people and Grafana ask.
type HTTP struct {
	Listen        string
	Insecure      bool   // lets in everybody, in plain text
	WebConfigFile string // in the format of prometheus/exporter-toolkit
	TokenFile     string // "": who writes is asked for what GRPC.TokenFile knows
	AllowedHosts  []string
	ExternalURL   string
	GrafanaURL    string // for links on the page
}

// Disk is what happens on one that is short of space.
type Disk struct {
	MakeRoomAfter time.Duration
}

// Slice is how event time is cut.
type Slice struct {
	Width         time.Duration
	WidthByMetric map[string]time.Duration
	Lateness      time.Duration
	LatenessSole  time.Duration // for topologies with a sole sender, if less
}

// Journal bounds what is kept of what was acknowledged.
type Journal struct {
	MaxBytes     int64
	SegmentBytes int64
}

// Embedded is the store inside the collector.
type Embedded struct {
	Enabled        bool
	RetentionTime  time.Duration
	RetentionBytes int64
}

// Query is who answers questions, and what one may cost.
type Query struct {
	URL            string // of an engine that answers in the embedded store's place; "" for none
	HTTPConfigFile string

	Timeout       time.Duration
	MaxSamples    int
	MaxConcurrent int
	Lookback      time.Duration

	MaxLength      int   // of a query's text, bytes
	MaxDepth       int   // of brackets and operators in each other
	MaxSeries      int64 // that one query finds
	MaxReadSamples int64 // that one query decodes
}

// Rules are evaluated by the collector itself.
type Rules struct {
	BuiltIn  bool
	Files    []string
	Interval time.Duration
}

// Alertmanager is who hears of alerts.
type Alertmanager struct {
	URLs           []string
	HTTPConfigFile string
}

// Nimbus is Storm's, which knows of topologies that are killed.
type Nimbus struct {
	Addresses []string
	Interval  time.Duration // how often it is asked
}

// Runs are runs of experiments to show.
type Runs struct {
	Dir string // "" for none
}

// Limits bound what producers may bring.
type Limits struct {
	SeriesPerTopology           int
	SamplesPerSecondPerTopology int // 0: no bound
	OpenSamples                 int
	OpenSamplesPerTopology      int
	Streams                     int
	BatchBytes                  int
}

// Log is how the collector speaks of itself.
type Log struct {
	Level  string
	Format string
}

// Default is the configuration of a collector that nobody configured.
func Default() Config {
	return Config{
		DataDir:  "bullet-metrics-data",
		Shutdown: 10 * time.Second, // below the 30 s after which systemd and Kubernetes kill
		GRPC:     GRPC{Listen: "127.0.0.1:4320", Acknowledge: AcknowledgeJournal},
		HTTP:     HTTP{Listen: "127.0.0.1:9320"},
		Disk:     Disk{MakeRoomAfter: 5 * time.Minute}, // senders keep an hour
		// Bullet's own emit interval; decision 5 has the latenesses
		Slice:   Slice{Width: 10 * time.Second, Lateness: 30 * time.Second, LatenessSole: 3 * time.Second},
		Journal: Journal{MaxBytes: 8 << 30, SegmentBytes: 64 << 20},
		// the days are Prometheus' default
		Embedded: Embedded{Enabled: true, RetentionTime: 15 * 24 * time.Hour, RetentionBytes: 8 << 30},
		Stores:   noStores(), flags: map[string]bool{},
		Query: Query{Timeout: 2 * time.Minute, MaxSamples: 50_000_000, MaxConcurrent: 20, Lookback: 5 * time.Minute,
			MaxLength: 64 << 10, MaxDepth: 256, MaxSeries: 500_000, MaxReadSamples: 1_000_000_000},
		Rules:  Rules{BuiltIn: true, Interval: 10 * time.Second},
		Nimbus: Nimbus{Interval: 30 * time.Second},
		Limits: Limits{SeriesPerTopology: 250_000, OpenSamples: 32 << 20, OpenSamplesPerTopology: 16 << 20,
			Streams: 384, BatchBytes: 4 << 20},
		Log: Log{Level: "info", Format: "text"},
	}
}

// Validate returns an error that names what does not fit together, with the key to change.
func (c Config) Validate() error {
	return errors.Join(
		validateListen("grpc", c.GRPC.Listen, c.GRPC.Insecure, c.GRPC.TLSCertFile != "",
			"set grpc.tls.cert_file, grpc.tls.key_file and grpc.token_file"),
		validateListen("http", c.HTTP.Listen, c.HTTP.Insecure, c.HTTP.WebConfigFile != "",
			"set tls_server_config in http.web_config_file, and http.token_file or basic_auth_users"),
		validateLoopback("pprof", c.Pprof),
		c.validatePorts(),
		c.GRPC.validate(),
		c.Slice.validate(),
		c.validateStores(),
		c.validateQueryURL(),
		c.validateAcknowledge(),
		notNegative("shutdown.timeout", c.Shutdown),
		notNegative("disk.make_room_after", c.Disk.MakeRoomAfter),
		notNegative("store.embedded.retention_time", c.Embedded.RetentionTime),
		atLeast("store.embedded.retention_bytes", c.Embedded.RetentionBytes, 0, "unlimited"),
		positive("query.lookback", int64(c.Query.Lookback)),
		positive("journal.segment_bytes", c.Journal.SegmentBytes),
		atLeast("journal.max_bytes", c.Journal.MaxBytes, 2*c.Journal.SegmentBytes,
			"two segments of journal.segment_bytes"),
		positive("query.max_samples", int64(c.Query.MaxSamples)),
		positive("query.max_concurrent", int64(c.Query.MaxConcurrent)),
		positive("query.max_length", int64(c.Query.MaxLength)),
		between("query.max_depth", int64(c.Query.MaxDepth), 1, maxDepth),
		positive("query.max_series", c.Query.MaxSeries),
		positive("query.max_read_samples", c.Query.MaxReadSamples),
		positive("query.timeout", int64(c.Query.Timeout)),
		wholeSeconds("rules.interval", c.Rules.Interval),
		validateURL("http.external_url", c.HTTP.ExternalURL, "https://collector.example:9320", "http.web_config_file"),
		validateURL("http.grafana_url", c.HTTP.GrafanaURL, "https://grafana.example", "Grafana's own login"),
		validateHosts("http.allowed_hosts", c.HTTP.AllowedHosts),
		c.Alertmanager.validate(),
		c.Nimbus.validate(),
		positive("limits.series_per_topology", int64(c.Limits.SeriesPerTopology)),
		atLeast("limits.samples_per_second_per_topology", int64(c.Limits.SamplesPerSecondPerTopology), 0, "unlimited"),
		positive("limits.open_samples", int64(c.Limits.OpenSamples)),
		positive("limits.open_samples_per_topology", int64(c.Limits.OpenSamplesPerTopology)),
		positive("limits.streams", int64(c.Limits.Streams)),
		positive("limits.batch_bytes", int64(c.Limits.BatchBytes)),
	)
}

func (g GRPC) validate() error {
	switch {
	case (g.TLSCertFile == "") != (g.TLSKeyFile == ""):
		return errors.New("grpc.tls.cert_file and grpc.tls.key_file belong together: set both or neither")
	case g.ClientCAFile != "" && g.TLSCertFile == "":
		return errors.New("grpc.tls.client_ca_file requires grpc.tls.cert_file and grpc.tls.key_file")
	case g.ClientCAFile != "" && g.TokenFile == "" && !g.Insecure:
		return errors.New("grpc.tls.client_ca_file is set without grpc.token_file: every certificate of that CA could write for every topology; set grpc.token_file, " +
			"with a line \"cert:NAME write TOPOLOGY\" for each sender, or \"cert:* write\" to allow this")
	case g.TLSCertFile != "" && g.TokenFile == "" && !g.Insecure:
		return errors.New("grpc.tls.cert_file is set without grpc.token_file: everybody could write; set grpc.token_file, or --grpc-insecure to allow this")
	}
	return nil
}

// Forwarded are the names of the stores that a topology is forwarded to before its sender drops its samples: those that
// are required.
func (c Config) Forwarded() (names []string) {
	for _, kind := range slices.Sorted(maps.Keys(c.Stores)) {
		for _, name := range slices.Sorted(maps.Keys(c.Stores[kind])) {
			if c.Stores[kind][name].Required {
				names = append(names, name)
			}
		}
	}
	return names
}

func (c Config) validateAcknowledge() error {
	if c.GRPC.Acknowledge != AcknowledgeForwarded {
		return nil
	}
	switch names := c.Forwarded(); len(names) {
	case 0:
		return errors.New("grpc.acknowledge is forwarded, but no store is required: set store.KIND.NAME.required for the store to which all collectors of a topology forward")
	case 1:
		return nil
	default:
		return fmt.Errorf("grpc.acknowledge is forwarded, but several stores are required (%s): set required only for the store to which all collectors of a topology forward",
			strings.Join(names, " and "))
	}
}

func (s Slice) validate() error {
	err := sliceWidth("slice.width", s.Width)
	for name, width := range s.WidthByMetric {
		err = errors.Join(err, sliceWidth("slice.width_by_metric."+name, width))
		if err == nil && width%s.Width != 0 {
			err = fmt.Errorf("slice.width_by_metric.%s is %s: must be a multiple of slice.width (%s)", name,
				width, s.Width)
		}
	}
	if s.Lateness < 0 || s.Lateness > time.Hour {
		err = errors.Join(err, fmt.Errorf("slice.lateness is %s: must be between 0s and 1h", s.Lateness))
	}
	if s.LatenessSole < 0 || s.LatenessSole > time.Hour {
		err = errors.Join(err, fmt.Errorf("slice.lateness_sole is %s: must be between 0s and 1h", s.LatenessSole))
	}
	return err
}

func (a Alertmanager) validate() (err error) {
	for _, u := range a.URLs {
		err = errors.Join(err, validateURL("alertmanager.urls", u, "http://127.0.0.1:9093", "alertmanager.http_config_file"))
	}
	if a.HTTPConfigFile != "" && len(a.URLs) == 0 {
		err = errors.Join(err, errors.New("alertmanager.http_config_file is set without alertmanager.urls: set both"))
	}
	return err
}

func (c Config) validateQueryURL() error {
	switch {
	case c.Query.URL == "" && c.Query.HTTPConfigFile != "":
		return errors.New("query.http_config_file is set without query.url: set both")
	case c.Query.URL != "" && c.Embedded.Enabled:
		return errors.New("query.url is set: disable the embedded store (store.embedded.enabled: false), " +
			"since queries would not use it")
	}
	return validateURL("query.url", c.Query.URL, "http://thanos-query:10902", "query.http_config_file")
}

func (n Nimbus) validate() (err error) {
	for _, one := range n.Addresses {
		if bad := address.HostPort(one).Server("nimbus:6627"); bad != nil {
			err = errors.Join(err, fmt.Errorf("nimbus.addresses %w", bad))
		}
	}
	if n.Interval < time.Second {
		err = errors.Join(err, fmt.Errorf("nimbus.interval is %s: must be at least 1s", n.Interval))
	}
	return err
}

// validateHosts refuses what is not the name or the IP address of a host.
func validateHosts(key string, hosts []string) (err error) {
	for _, host := range hosts {
		if address.HostPort(net.JoinHostPort(host, "1")).Server("metrics.example:1") != nil {
			err = errors.Join(err, fmt.Errorf("%s %.100q: not a host name; use names without a port, for example metrics.example",
				key, host))
		}
	}
	return err
}

// validateURL refuses what is not the URL of a server; "" is none. The URL is logged and shown, so that a user and a
// password belong in the file that secrets names.
func validateURL(key, text, example, secrets string) error {
	if text == "" {
		return nil
	}
	if _, err := address.URL(text).Parse(address.Form{Example: example, Secrets: secrets}); err != nil {
		return fmt.Errorf("%s %w", key, err)
	}
	return nil
}

func wholeSeconds(key string, d time.Duration) error {
	if d < time.Second || d%time.Second != 0 {
		return fmt.Errorf("%s is %s: must be a whole number of seconds, at least 1s", key, d)
	}
	return nil
}

// sliceWidth refuses what fits neither into a minute nor into an hour: sources report each 10 s or each minute, and
// slices that their reports cross would hold now one report and now two.
func sliceWidth(key string, d time.Duration) error {
	if err := wholeSeconds(key, d); err != nil {
		return err
	}
	if time.Minute%d != 0 && (d%time.Minute != 0 || time.Hour%d != 0) {
		return fmt.Errorf("%s is %s: must divide 1m, or be whole minutes that divide 1h, for example 5s, 10s, 30s, 1m or 5m",
			key, d)
	}
	return nil
}

// validateListen refuses an address that others can reach without TLS, unless the operator has allowed it. secured
// reports that there are files about it: what is in them is looked at by who opens them (package access).
func validateListen(port, given string, insecure, secured bool, hint string) error {
	listen := address.HostPort(given)
	if err := listen.Listen(map[string]string{"grpc": "127.0.0.1:4320", "http": "127.0.0.1:9320"}[port]); err != nil {
		return fmt.Errorf("%s.listen %w", port, err)
	}
	if secured || insecure || listen.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s.listen is %s: other machines could connect without TLS; %s, listen on 127.0.0.1, or set --%s-insecure",
		port, listen, hint, port)
}

// validateLoopback refuses an address that others can reach, whatever else is set; "" is none.
func validateLoopback(key, given string) error {
	listen := address.HostPort(given)
	if given == "" {
		return nil
	}
	if err := listen.Listen("127.0.0.1:6060"); err != nil {
		return fmt.Errorf("%s %w", key, err)
	}
	if !listen.IsLoopback() {
		return fmt.Errorf("%s %q: other machines could connect; use a loopback address, for example 127.0.0.1:6060",
			key, listen)
	}
	return nil
}

// Listens is an address that the collector listens on, by the key of its setting.
type Listens struct {
	Key     string
	Address address.HostPort
}

// Listens are the addresses that the collector listens on.
func (c Config) Listens() []Listens {
	all := []Listens{{"grpc.listen", address.HostPort(c.GRPC.Listen)}, {"http.listen", address.HostPort(c.HTTP.Listen)}}
	if c.Pprof != "" {
		all = append(all, Listens{"pprof", address.HostPort(c.Pprof)})
	}
	return all
}

// validatePorts refuses two servers on one port.
func (c Config) validatePorts() (err error) {
	all := c.Listens()
	for i, later := range all {
		for _, earlier := range all[:i] {
			if later.Address.Overlaps(earlier.Address) {
				err = errors.Join(err, fmt.Errorf("%s %q: %s %q has the same port; use different ports", later.Key,
					later.Address, earlier.Key, earlier.Address))
			}
		}
	}
	return err
}

func notNegative(key string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s is %s: must not be negative", key, d)
	}
	return nil
}

func positive(key string, v int64) error {
	if v <= 0 {
		return fmt.Errorf("%s must be greater than 0", key)
	}
	return nil
}

// maxDepth bounds query.max_depth: parser and engine recurse on a stack that is bounded too.
const maxDepth = 10_000

func between(key string, v, least, most int64) error {
	if v < least || v > most {
		return fmt.Errorf("%s is %d: must be between %d and %d", key, v, least, most)
	}
	return nil
}

func atLeast(key string, v, least int64, what string) error {
	if v < least {
		return fmt.Errorf("%s is %d: must be at least %d (%s)", key, v, least, what)
	}
	return nil
}
