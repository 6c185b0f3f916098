package config

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// Setting is one key of the file, which is also a flag: "slice.width" is --slice-width.
type Setting struct {
	Key   string
	Usage string // what it means, with its unit
	value pflag.Value
}

// Flag is the setting's name on the command line, without dashes.
func (s Setting) Flag() string {
	return strings.NewReplacer("."+anyName, "", ".", "-", "_", "-").Replace(s.Key)
}

// Default is the setting's value as text, "" for none: of Default's settings the default.
func (s Setting) Default() string { return s.value.String() }

// Settings is the table of every setting, bound to the fields of c.
func Settings(c *Config) []Setting {
	return slices.Concat([]Setting{
		{"data_dir", "directory for all data of the collector", path(&c.DataDir)},
		{"shutdown.timeout", "maximum time from SIGTERM to the end of the process", duration(&c.Shutdown)},
		{"grpc.listen", "address for samples from plugins, HOST:PORT", text(&c.GRPC.Listen)},
		{"grpc.insecure", "accept samples without TLS and authentication, even from other machines",
			yesNo(&c.GRPC.Insecure)},
		{"grpc.tls.cert_file", "PEM file with the certificate of the gRPC port; read again when it changes",
			path(&c.GRPC.TLSCertFile)},
		{"grpc.tls.key_file", "PEM file with the private key of the gRPC port", path(&c.GRPC.TLSKeyFile)},
		{"grpc.tls.client_ca_file",
			"PEM file with the CA of client certificates; makes client certificates mandatory; needs grpc.token_file, which grants write access",
			path(&c.GRPC.ClientCAFile)},
		{"grpc.token_file",
			"file that grants write access to tokens and certificates, one entry per line (docs/security.md); read again when it changes",
			path(&c.GRPC.TokenFile)},
		{"grpc.acknowledge",
			"when a batch is acknowledged: journal (it is on this machine's disk) or forwarded (the required store has it, or another collector can take it over; docs/scale.md)",
			oneOf(&c.GRPC.Acknowledge, AcknowledgeJournal, AcknowledgeForwarded)},
		{"http.listen", "address of the page, the Prometheus API and /metrics, HOST:PORT", text(&c.HTTP.Listen)},
		{"http.insecure", "allow reading and annotating without TLS and authentication, even from other machines",
			yesNo(&c.HTTP.Insecure)},
		{"http.web_config_file",
			"file with TLS, client certificates, users and headers of the HTTP port, in the format of Prometheus' --web.config.file (exporter-toolkit)",
			path(&c.HTTP.WebConfigFile)},
		{"http.token_file",
			"file that grants access over HTTP, in the format of grpc.token_file; may be the same file; if not set, annotations need an entry in grpc.token_file",
			path(&c.HTTP.TokenFile)},
		{"http.allowed_hosts",
			"additional names accepted in a request's Host header, besides localhost and the host of http.external_url",
			list(&c.HTTP.AllowedHosts)},
		{"http.external_url", "URL of this collector in the links of alerts; http.listen if not set",
			text(&c.HTTP.ExternalURL)},
		{"http.grafana_url", "URL of a Grafana with the exported dashboards, to which the page links",
			text(&c.HTTP.GrafanaURL)},
		{"disk.make_room_after",
			"how long the data directory's disk must be short of space before the oldest data are deleted; until then, senders wait",
			duration(&c.Disk.MakeRoomAfter)},
		{"slice.width", "width of a slice, a whole number of seconds", duration(&c.Slice.Width)},
		{"slice.width_by_metric", "slice width of single metrics, METRIC=WIDTH", durations(&c.Slice.WidthByMetric)},
		{"slice.lateness", "how far a sample may be behind the newest sample of its worker and still count",
			duration(&c.Slice.Lateness)},
		{"slice.lateness_sole",
			"the same for topologies of which one task of the plugin sends all samples, if it is less",
			duration(&c.Slice.LatenessSole)},
		{"journal.max_bytes", "maximum size of the journal on disk, in bytes; if not set, at most a tenth of that disk",
			size(&c.Journal.MaxBytes)},
		{"journal.segment_bytes",
			"size at which the journal starts a new file, in bytes; if not set, less on a small disk",
			size(&c.Journal.SegmentBytes)},
		{"store.embedded.enabled", "write slices to the embedded store", yesNo(&c.Embedded.Enabled)},
		{"store.embedded.retention_time", "how long slices are kept; 0s means no limit",
			duration(&c.Embedded.RetentionTime)},
		{"store.embedded.retention_bytes",
			"maximum size of the slices on disk, in bytes; 0 means no limit; if not set, at most a tenth of that disk",
			size(&c.Embedded.RetentionBytes)},
	}, c.storeSettings(), []Setting{
		{"query.timeout", "maximum duration of a query", duration(&c.Query.Timeout)},
		{"query.max_samples", "maximum number of samples that one query may hold in memory",
			integer(&c.Query.MaxSamples)},
		{"query.max_concurrent", "maximum number of queries at the same time; further queries wait",
			integer(&c.Query.MaxConcurrent)},
		{"query.max_length", "maximum length of a query's text, in bytes", integer(&c.Query.MaxLength)},
		{"query.max_depth", "maximum nesting depth of brackets and operators in a query, at most 10000",
			integer(&c.Query.MaxDepth)},
		{"query.max_series", "maximum number of series that one query may select", count(&c.Query.MaxSeries)},
		{"query.max_read_samples", "maximum number of samples that one query may read in total",
			count(&c.Query.MaxReadSamples)},
		{"query.lookback", "how far back a query looks for the newest value of a series", duration(&c.Query.Lookback)},
		{"query.url",
			"URL of a Prometheus-compatible API that answers queries and rules, such as http://thanos-query:10902; needs store.embedded.enabled: false",
			text(&c.Query.URL)},
		{"query.http_config_file",
			"file with TLS, credentials and headers for query.url, in the format of Prometheus' http_config",
			path(&c.Query.HTTPConfigFile)},
		{"rules.builtin",
			"evaluate the built-in alerts; disable it if Prometheus or Grafana evaluates them; read again on reload",
			yesNo(&c.Rules.BuiltIn)},
		{"rules.files",
			"files with additional recording and alerting rules in Prometheus' format, or patterns such as rules/*.yml; read again on reload",
			paths(&c.Rules.Files)},
		{"rules.interval", "evaluation interval of rule groups that set none, a whole number of seconds",
			duration(&c.Rules.Interval)},
		{"alertmanager.urls", "Alertmanagers that receive every alert, such as http://127.0.0.1:9093",
			list(&c.Alertmanager.URLs)},
		{"alertmanager.http_config_file",
			"file with TLS and credentials for the Alertmanagers, in the format of Prometheus' http_config",
			path(&c.Alertmanager.HTTPConfigFile)},
		{"nimbus.addresses",
			"Thrift addresses of Nimbus, HOST:PORT, without SASL; the first that answers is used; a topology that Nimbus reports as killed raises no alert",
			list(&c.Nimbus.Addresses)},
		{"nimbus.interval",
			"how often Nimbus is polled; keep it shorter than the 3 minutes after which the built-in alerts report a missing topology",
			duration(&c.Nimbus.Interval)},
		{"runs.dir",
			"directory with the run directories of tune run and demo; the page shows their verdicts and reports",
			path(&c.Runs.Dir)},
		{"limits.series_per_topology", "maximum number of series of one topology",
			integer(&c.Limits.SeriesPerTopology)},
		{"limits.samples_per_second_per_topology",
			"maximum samples per second of one topology, averaged over a minute; senders queue the rest; 0 means no limit",
			integer(&c.Limits.SamplesPerSecondPerTopology)},
		{"limits.open_samples",
			"maximum number of samples in open slices of all topologies, for each store; each takes 12 to 32 bytes",
			integer(&c.Limits.OpenSamples)},
		{"limits.open_samples_per_topology", "maximum number of samples in open slices of one topology, for each store",
			integer(&c.Limits.OpenSamplesPerTopology)},
		{"limits.streams", "maximum number of senders at the same time", integer(&c.Limits.Streams)},
		{"limits.batch_bytes", "maximum size of a batch, in bytes", integer(&c.Limits.BatchBytes)},
		{"pprof", "local address of Go's profiles (/debug/pprof/), HOST:PORT; off if not set", text(&c.Pprof)},
		{"log.level", "minimum level of log messages: debug, info, warn or error",
			oneOf(&c.Log.Level, "debug", "info", "warn", "error")},
		{"log.format", "format of log messages: text or json", oneOf(&c.Log.Format, "text", "json")},
	})
}

// AddFlags makes a flag of every setting. A flag that is given wins over the file, whichever is read first: LoadFile
// leaves the settings alone whose flags were given.
func AddFlags(flags *pflag.FlagSet, c *Config) {
	for _, s := range Settings(c) {
		flag := flags.VarPF(s.value, s.Flag(), "", s.Usage)
		if s.value.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// Kinds of settings that take several values; the others take one.
const (
	kindList  = "strings"
	kindPairs = "METRIC=WIDTH,..."
)

// value is a setting's text form: how to read it, and how it reads now. It is no textfile.FlagValue, which is a path's.
type value struct {
	kind  string
	set   func(string) error
	print func() string
}

func (v value) Set(s string) error { return v.set(s) }
func (v value) String() string {
	if v.print == nil {
		return ""
	}
	return v.print()
}
func (v value) Type() string { return v.kind }

func text(p *string) pflag.Value {
	return value{"string", func(s string) error { *p = s; return nil }, func() string { return *p }}
}

// path is a path of a file or a directory. One that stands in a file starts at the directory of that file.
func path(p *string) pflag.Value { return fileValue{textfile.PathFlag(p, *p)} }

// paths are several.
func paths(p *[]string) pflag.Value {
	set := func(text string) error {
		var all []string
		if err := textfile.PathListFlag(&all).Set(text); err != nil {
			return err
		}
		*p = all
		return nil
	}
	return fileValue{value{kindList, set, func() string { return strings.Join(*p, ",") }}}
}

// fileValue is a value that is read in another way where a file has it.
type fileValue struct{ pflag.Value }

// setFrom sets paths that stand in a file.
func (v fileValue) setFrom(file, text string) error {
	if text == "" && v.Type() == kindList {
		return nil // a list without entries
	}
	all := []string{text}
	if v.Type() == kindList {
		all = strings.Split(text, ",")
	}
	for i, one := range all {
		if err := textfile.CheckPath(one); err != nil {
			return err
		}
		all[i] = textfile.RelativePath(file, one)
	}
	return v.Set(strings.Join(all, ","))
}

// setFrom sets a value as a file has it.
func setFrom(file string, v pflag.Value, text string) error {
	if own, is := v.(fileValue); is {
		return own.setFrom(file, text)
	}
	return v.Set(text)
}

func oneOf(p *string, allowed ...string) pflag.Value {
	return value{"string", func(s string) error {
		if slices.Contains(allowed, s) {
			*p = s
			return nil
		}
		return fmt.Errorf("%q is not one of %s", s, strings.Join(allowed, ", "))
	}, func() string { return *p }}
}

func yesNo(p *bool) pflag.Value {
	return parsed(p, "bool", "true or false", strconv.ParseBool, strconv.FormatBool)
}

func integer(p *int) pflag.Value {
	return parsed(p, "int", "a whole number", strconv.Atoi, strconv.Itoa)
}

func count(p *int64) pflag.Value {
	read := func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
	return parsed(p, "int", "a whole number", read, decimal)
}

func duration(p *time.Duration) pflag.Value {
	print := func(d time.Duration) string { return model.Duration(d).String() }
	return parsed(p, "duration", "a duration, such as 10s or 15d", parseDuration, print)
}

func size(p *int64) pflag.Value {
	return parsed(p, "bytes", "a number of bytes, such as 67108864 or 64MiB", parseSize, decimal)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func list(p *[]string) pflag.Value {
	return value{kindList, func(s string) error {
		*p = nil
		for _, item := range strings.Split(s, ",") {
			if item = strings.TrimSpace(item); item != "" {
				*p = append(*p, item)
			}
		}
		return nil
	}, func() string { return strings.Join(*p, ",") }}
}

func durations(p *map[string]time.Duration) pflag.Value {
	return value{kindPairs, func(s string) error {
		read := map[string]time.Duration{}
		for _, item := range strings.Split(s, ",") {
			name, width, found := strings.Cut(item, "=")
			d, err := parseDuration(strings.TrimSpace(width))
			if !found || err != nil || strings.TrimSpace(name) == "" {
				return fmt.Errorf("%q: use METRIC=WIDTH, for example bullet_active_queries=60s", item)
			}
			read[strings.TrimSpace(name)] = d
		}
		*p = read
		return nil
	}, func() string { return printDurations(*p) }}
}

func printDurations(m map[string]time.Duration) string {
	var items []string
	for name, width := range m {
		items = append(items, name+"="+model.Duration(width).String())
	}
	sort.Strings(items)
	return strings.Join(items, ",")
}

// parsed is a setting that a parser reads. A value that cannot be read leaves what p points to as it is, because it
// must not be judged as another. An error says what is wanted, in place of the parser's own words.
func parsed[T any](p *T, kind, wanted string, read func(string) (T, error), print func(T) string) pflag.Value {
	return value{kind, func(s string) error {
		v, err := read(strings.TrimSpace(s))
		if err != nil {
			return fmt.Errorf("%.100q is not %s", s, wanted)
		}
		*p = v
		return nil
	}, func() string { return print(*p) }}
}

// parseDuration takes Go's form ("1m30s") and Prometheus' ("15d").
func parseDuration(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	d, err := model.ParseDuration(s)
	return time.Duration(d), err
}

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"TB", 1e12}, {"B", 1}, {"", 1}}

func parseSize(s string) (int64, error) {
	for _, unit := range sizeUnits {
		if number, found := strings.CutSuffix(s, unit.suffix); found {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			if err == nil && n > (1<<63-1)/unit.bytes {
				return 0, strconv.ErrRange
			}
			return n * unit.bytes, err
		}
	}
	return 0, strconv.ErrSyntax
}
