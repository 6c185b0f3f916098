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
		{"data_dir", "directory of everything the collector keeps", path(&c.DataDir)},
		{"shutdown.timeout", "longest time from SIGTERM to the end of the process", duration(&c.Shutdown)},
		{"grpc.listen", "address that plugins send to, HOST:PORT", text(&c.GRPC.Listen)},
		{"grpc.insecure", "let everybody send, in plain text, also from other machines, where no TLS and no tokens are set",
			yesNo(&c.GRPC.Insecure)},
		{"grpc.tls.cert_file", "certificate of the gRPC port, PEM; read again when it changes",
			path(&c.GRPC.TLSCertFile)},
		{"grpc.tls.key_file", "private key of the gRPC port, PEM", path(&c.GRPC.TLSKeyFile)},
		{"grpc.tls.client_ca_file",
			"authority that senders' certificates must come from, PEM; requires mutual TLS, and needs grpc.token_file, which grants what each may write",
			path(&c.GRPC.ClientCAFile)},
		{"grpc.token_file", "file of who may write what: tokens' hashes and certificates, one a line (docs/security.md); read again when it changes",
			path(&c.GRPC.TokenFile)},
		{"grpc.acknowledge",
			"when a sender may drop what it sent: journal, when it is on this machine's disk; forwarded, when the one required store has it, or the sender can carry it to another collector (docs/scale.md)",
			oneOf(&c.GRPC.Acknowledge, AcknowledgeJournal, AcknowledgeForwarded)},
		{"http.listen", "address of the page, the Prometheus API and /metrics, HOST:PORT", text(&c.HTTP.Listen)},
		{"http.insecure", "let everybody read and annotate, in plain text, also from other machines, where no TLS and nobody to ask for is set",
			yesNo(&c.HTTP.Insecure)},
		{"http.web_config_file",
			"TLS, client certificates, users and headers of the HTTP port, in the format of Prometheus' --web.config.file (exporter-toolkit)",
			path(&c.HTTP.WebConfigFile)},
		{"http.token_file", "file of who may read and write over HTTP, as grpc.token_file, and may be the same; without it annotations ask for grpc.token_file's",
			path(&c.HTTP.TokenFile)},
		{"http.allowed_hosts",
			"further names that a request's Host header may have, beside localhost and http.external_url's",
			list(&c.HTTP.AllowedHosts)},
		{"http.external_url", "where an alert's reader finds this collector, a URL; http.listen where it is not set",
			text(&c.HTTP.ExternalURL)},
		{"disk.make_room_after",
			"how long the data directory's disk must be short of room, without a break, before the oldest data go to make it; until then senders wait",
			duration(&c.Disk.MakeRoomAfter)},
		{"slice.width", "width of a slice, whole seconds", duration(&c.Slice.Width)},
		{"slice.width_by_metric", "width of a metric's slices where it differs, METRIC=WIDTH",
			durations(&c.Slice.WidthByMetric)},
		{"slice.lateness", "how late a sample may be and still count", duration(&c.Slice.Lateness)},
		{"journal.max_bytes",
			"most that the journal may take on disk, bytes; where it is not set, no more than a tenth of that disk",
			size(&c.Journal.MaxBytes)},
		{"journal.segment_bytes",
			"size at which the journal starts a new file, bytes; where it is not set, less on a small disk",
			size(&c.Journal.SegmentBytes)},
		{"store.embedded.enabled", "keep slices in the collector's own store", yesNo(&c.Embedded.Enabled)},
		{"store.embedded.retention_time", "how long slices are kept; 0s for ever", duration(&c.Embedded.RetentionTime)},
		{"store.embedded.retention_bytes",
			"most that slices may take on disk, bytes; 0 for no bound; where it is not set, no more than a tenth of that disk",
			size(&c.Embedded.RetentionBytes)},
	}, c.storeSettings(), []Setting{
		{"query.timeout", "longest time of one query", duration(&c.Query.Timeout)},
		{"query.max_samples", "most samples that one query may hold in memory", integer(&c.Query.MaxSamples)},
		{"query.max_concurrent", "most queries at a time", integer(&c.Query.MaxConcurrent)},
		{"query.max_length", "longest text of a query, bytes", integer(&c.Query.MaxLength)},
		{"query.max_depth", "how deep a query's brackets and operators may lie in each other, at most 10000",
			integer(&c.Query.MaxDepth)},
		{"query.max_series", "most series that one query may find", count(&c.Query.MaxSeries)},
		{"query.max_read_samples", "most samples that one query may read, whether or not they are in memory at once",
			count(&c.Query.MaxReadSamples)},
		{"query.lookback", "how far back a query looks for a series' newest value", duration(&c.Query.Lookback)},
		{"query.url",
			"answer queries and evaluate rules by the Prometheus-compatible API below this URL, such as http://thanos-query:10902, with store.embedded.enabled false",
			text(&c.Query.URL)},
		{"query.http_config_file", "TLS, credentials and headers for query.url, in the format of Prometheus' http_config",
			path(&c.Query.HTTPConfigFile)},
		{"rules.builtin", "evaluate the alerts that come with the program; off where a Prometheus or Grafana evaluates them; a reload takes it",
			yesNo(&c.Rules.BuiltIn)},
		{"rules.files", "further files of recording and alerting rules in Prometheus' format; patterns such as rules/*.yml; a reload reads them again",
			paths(&c.Rules.Files)},
		{"rules.interval", "how often rules are evaluated whose group does not say it, whole seconds",
			duration(&c.Rules.Interval)},
		{"alertmanager.urls", "Alertmanagers that hear of every alert, such as http://127.0.0.1:9093",
			list(&c.Alertmanager.URLs)},
		{"alertmanager.http_config_file",
			"TLS and credentials for the Alertmanagers, in the format of Prometheus' http_config",
			path(&c.Alertmanager.HTTPConfigFile)},
		{"nimbus.addresses",
			"Nimbus' Thrift addresses, HOST:PORT, without SASL: a topology that Nimbus reports as killed raises no alert by its silence; the first that answers counts",
			list(&c.Nimbus.Addresses)},
		{"nimbus.interval", "how often Nimbus is asked; shorter than the alerts take to miss a topology, which is 3 minutes as they come",
			duration(&c.Nimbus.Interval)},
		{"runs.dir", "directory that holds the runs of bullet-metrics tune run and demo, each in its own, whose verdicts and reports the page shows",
			path(&c.Runs.Dir)},
		{"limits.series_per_topology", "most series of one topology", integer(&c.Limits.SeriesPerTopology)},
		{"limits.samples_per_second_per_topology",
			"most samples a second of one topology, over a minute; what is beyond waits at its sender; 0 for no bound",
			integer(&c.Limits.SamplesPerSecondPerTopology)},
		{"limits.open_samples",
			"most samples of slices that are not closed yet, over all topologies, for each store; 12 to 32 bytes each",
			integer(&c.Limits.OpenSamples)},
		{"limits.open_samples_per_topology",
			"most samples of one topology's slices that are not closed yet, for each store",
			integer(&c.Limits.OpenSamplesPerTopology)},
		{"limits.streams", "most senders at a time", integer(&c.Limits.Streams)},
		{"limits.batch_bytes", "largest batch taken, bytes", integer(&c.Limits.BatchBytes)},
		{"pprof", "address of Go's profiles (/debug/pprof/), HOST:PORT on this machine; off where not set",
			text(&c.Pprof)},
		{"log.level", "least level logged: debug, info, warn, error",
			oneOf(&c.Log.Level, "debug", "info", "warn", "error")},
		{"log.format", "text or json", oneOf(&c.Log.Format, "text", "json")},
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

// value is a setting's text form: how to read it, and how it reads now.
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
		for _, a := range allowed {
			if s == a {
				*p = s
				return nil
			}
		}
		return fmt.Errorf("%q is none of %s", s, strings.Join(allowed, ", "))
	}, func() string { return *p }}
}

func yesNo(p *bool) pflag.Value {
	return value{"bool", func(s string) error { return parse(p, s, "true or false", strconv.ParseBool) },
		func() string { return strconv.FormatBool(*p) }}
}

func integer(p *int) pflag.Value {
	return value{"int", func(s string) error { return parse(p, s, "a whole number", strconv.Atoi) },
		func() string { return strconv.Itoa(*p) }}
}

func count(p *int64) pflag.Value {
	read := func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
	return value{"int", func(s string) error { return parse(p, s, "a whole number", read) },
		func() string { return strconv.FormatInt(*p, 10) }}
}

func duration(p *time.Duration) pflag.Value {
	return value{"duration", func(s string) error { return parse(p, s, "a duration, such as 10s or 15d", parseDuration) },
		func() string { return model.Duration(*p).String() }}
}

func size(p *int64) pflag.Value {
	return value{"bytes", func(s string) error {
		return parse(p, s, "a number of bytes, such as 67108864 or 64MiB", parseSize)
	},
		func() string { return strconv.FormatInt(*p, 10) }}
}

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
				return fmt.Errorf("%q is not METRIC=WIDTH, such as bullet_active_queries=60s", item)
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

// parse sets what p points to, or leaves it as it is: a value that could not be read must not be judged as another. An
// error says what is wanted, in place of the parser's own words.
func parse[T any](p *T, s, wanted string, parser func(string) (T, error)) error {
	v, err := parser(strings.TrimSpace(s))
	if err != nil {
		return fmt.Errorf("%.100q is not %s", s, wanted)
	}
	*p = v
	return nil
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
