package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/influx" // two kinds of stores
	_ "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/remote"
)

func never(Setting) bool { return false }

func TestTheDefaultIsValid(t *testing.T) {
	require.NoError(t, Default().Validate())
}

func TestAFileIsRead(t *testing.T) {
	c := Default()
	_, err := load("f.yaml", []byte(`
# comment
data_dir: /var/lib/bullet-metrics
slice:
  width: 1m
  lateness: 5s
  width_by_metric: {bullet_active_queries: 2m}
http.allowed_hosts: [metrics.example, other.example]
journal: {max_bytes: 1GiB}
store:
  embedded:
    enabled: false
    retention_time: 15d
  remote_write.m.url: http://m/
`), Settings(&c), never)
	require.NoError(t, err)
	assert.Equal(t, "/var/lib/bullet-metrics", c.DataDir)
	assert.Equal(t, Slice{Width: time.Minute, Lateness: 5 * time.Second, LatenessSole: 3 * time.Second,
		WidthByMetric: map[string]time.Duration{"bullet_active_queries": 2 * time.Minute}}, c.Slice)
	assert.Equal(t, []string{"metrics.example", "other.example"}, c.HTTP.AllowedHosts)
	assert.Equal(t, int64(1<<30), c.Journal.MaxBytes)
	assert.False(t, c.Embedded.Enabled)
	assert.Equal(t, 15*24*time.Hour, c.Embedded.RetentionTime)
	assert.NoError(t, c.Validate())
}

func TestFaultsNameFileLineKeyAndWhatToDo(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"typo": {"slice:\n  widht: 10s\n",
			`f.yaml:2: unknown setting "slice.widht"; did you mean "slice.width"?`},
		"typo in a group": {"slcie:\n  width: 10s\n", `f.yaml:1: unknown setting "slcie"; did you mean "slice"?`},
		"not a duration": {"\nslice:\n  width: ten\n",
			`f.yaml:3: slice.width: "ten" is not a duration, such as 10s or 15d`},
		"not a size": {"journal.max_bytes: 3 apples\n",
			`f.yaml:1: journal.max_bytes: "3 apples" is not a number of bytes`},
		"not a choice": {"log:\n  level: loud\n",
			`f.yaml:2: log.level: "loud" is not one of debug, info, warn, error`},
		"twice": {"slice.width: 10s\nslice:\n  width: 20s\n",
			`f.yaml:3: slice.width is set twice, first in line 1`},
		"a value for a group": {"slice: 10s\n", `f.yaml:1: slice holds settings, not a value`},
		"null":                {"data_dir:\n", `f.yaml:1: data_dir has a value of the wrong shape`},
		"settings below one": {"log.level: info\nruns.dir: {inner: {inner: runs}}\n",
			`f.yaml:2: runs.dir has a value of the wrong shape`},
		"a list for one":   {"limits.streams: [384]\n", `f.yaml:1: limits.streams has a value of the wrong shape`},
		"a list in a list": {"rules.files: [a, [b]]\n", `f.yaml:1: rules.files has a value of the wrong shape`},
		"below a store's": {"store.influxdb.old.database: {a: b}\n",
			`f.yaml:1: store.influxdb.old.database has a value of the wrong shape`},
		"not YAML":      {"a: [1\n", `f.yaml: [1:`},
		"two documents": {"data_dir: a\n---\ndata_dir: b\n", `more than one YAML document`},
		"typo in a store": {"store:\n  remote_write:\n    mimir:\n      ulr: http://m/\n",
			`f.yaml:4: unknown setting "store.remote_write.mimir.ulr"; did you mean "store.remote_write.mimir.url"?`},
		"typo in a kind": {"store:\n  remote_wriet:\n    mimir: {url: x}\n",
			`f.yaml:2: unknown setting "store.remote_wriet"; did you mean "store.remote_write"?`},
		"a value for a store": {"store:\n  remote_write:\n    mimir: x\n",
			`f.yaml:3: store.remote_write.mimir holds settings, not a value`},
		"store's name": {"store.influxdb.No Good.url: http://i/\n",
			`f.yaml:1: store.influxdb.No Good.url: "No Good" is not a valid name`},
		"store's choice": {"store.remote_write.m.histograms: both\n",
			`f.yaml:1: store.remote_write.m.histograms: "both" is not one of native, classic`},
		"store twice": {"store.remote_write.m.url: a\nstore:\n  remote_write:\n    m: {url: b}\n",
			`store.remote_write.m.url is set twice, first in line 1`},
	} {
		t.Run(name, func(t *testing.T) {
			config := Default()
			_, err := load("f.yaml", []byte(c.file), Settings(&config), never)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	c := Default()
	_, err := load("f.yaml", []byte("dta_dir: a\nslice.width: x\n"), Settings(&c), never)
	assert.ErrorContains(t, err, "f.yaml:1:")
	assert.ErrorContains(t, err, "f.yaml:2:")
}

// What only the settings together show is named with file and line too, where the file has the key that it is about.
func TestFaultsOfTheWholeAreLocated(t *testing.T) {
	c := Default()
	lines, err := load("f.yaml", []byte("slice:\n  width: 1500ms\ngrpc:\n  listen: 0.0.0.0:4320\nrules.interval: 1h\n"),
		Settings(&c), never)
	require.NoError(t, err)
	err = lines.Locate(c.Validate())
	assert.ErrorContains(t, err, "f.yaml:2: slice.width is 1.5s")
	assert.ErrorContains(t, err, "f.yaml:4: grpc.listen is 0.0.0.0:4320")
	c.HTTP.Listen = "localhost"
	assert.ErrorContains(t, lines.Locate(c.Validate()), "\nhttp.listen \"localhost\": missing port; use HOST:PORT, for example 127.0.0.1:9320",
		"a flag has no line")
	assert.NoError(t, lines.Locate(nil))
}

func TestAFlagWinsOverTheFile(t *testing.T) {
	c := Default()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(flags, &c)
	require.NoError(t, flags.Parse([]string{"--slice-width", "20s", "--http-insecure"}))
	given := func(s Setting) bool { return flags.Changed(s.Flag()) }
	_, err := load("f.yaml", []byte("slice.width: 30s\ndata_dir: d\n"), Settings(&c), given)
	require.NoError(t, err)
	assert.Equal(t, 20*time.Second, c.Slice.Width)
	assert.Equal(t, "d", c.DataDir)
	assert.True(t, c.HTTP.Insecure)
}

func TestSeveralNamedStores(t *testing.T) {
	c := Default()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(flags, &c)
	require.NoError(t, flags.Parse([]string{"--store-remote-write-url", "mimir=http://flag/?a=b,c",
		"--store-remote-write-url", "third=http://third/"}))
	given := func(s Setting) bool { return flags.Changed(s.Flag()) }
	_, err := load("f.yaml", []byte(`
store:
  embedded.enabled: false
  remote_write:
    mimir: {url: "http://file/", histograms: native, timeout: 5s}
    victoria:
      url: http://v:8428/api/v1/write
      histograms: classic
      required: true
  influxdb:
    old: {url: "http://i:8086", database: bullet}
`), Settings(&c), given)
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	store := func(url string, own map[string]string) *Store {
		s := defaultStore()
		s.URL, s.Own = url, own
		return &s
	}
	mimir, victoria := store("http://flag/?a=b,c", map[string]string{"histograms": "native"}),
		store("http://v:8428/api/v1/write", map[string]string{"histograms": "classic"})
	mimir.Timeout, victoria.Required = 5*time.Second, true
	assert.Equal(t, map[string]map[string]*Store{
		"remote_write": {"mimir": mimir, "victoria": victoria, "third": store("http://third/", map[string]string{})},
		"influxdb":     {"old": store("http://i:8086", map[string]string{"database": "bullet"})},
	}, c.Stores)
	assert.ErrorContains(t, flags.Parse([]string{"--store-influxdb-url", "http://i:8086"}), "NAME=VALUE")
}

func TestEverySettingReadsItsOwnDefault(t *testing.T) {
	c := Default()
	want := Default()
	for _, s := range Settings(&c) {
		if text := s.Default(); text != "" {
			assert.NoError(t, s.value.Set(text), s.Key)
		}
	}
	assert.Equal(t, want, c)
}

func TestWhatDoesNotFitTogetherIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"open to others": {func(c *Config) { c.GRPC.Listen = "0.0.0.0:4320" }, "--grpc-insecure"},
		"profiles to others": {func(c *Config) { c.Pprof, c.HTTP.Insecure = "0.0.0.0:6060", true },
			"use a loopback address"},
		"no port": {func(c *Config) { c.HTTP.Listen = "localhost" }, "http.listen"},
		"HTTP to others": {func(c *Config) { c.HTTP.Listen = "0.0.0.0:9320" },
			"set tls_server_config in http.web_config_file"},
		"TLS alone": {func(c *Config) { c.GRPC.TLSCertFile, c.GRPC.TLSKeyFile = "c", "k" },
			"everybody could write; set grpc.token_file"},
		"authority alone": {func(c *Config) {
			c.GRPC.TLSCertFile, c.GRPC.TLSKeyFile, c.GRPC.ClientCAFile = "c", "k", "a"
		},
			`with a line "cert:NAME write TOPOLOGY"`},
		"half a key pair": {func(c *Config) { c.GRPC.TLSCertFile = "c.pem" }, "grpc.tls.key_file"},
		"forwarded to nobody": {func(c *Config) { c.GRPC.Acknowledge = AcknowledgeForwarded },
			"no store is required: set store.KIND.NAME.required"},
		"forwarded to two": {func(c *Config) {
			c.GRPC.Acknowledge = AcknowledgeForwarded
			for _, name := range []string{"a", "b"} {
				c.Stores["remote_write"][name] = &Store{URL: "http://m/", Timeout: 1, MaxSlices: 1, MaxBytes: 1, Required: true}
			}
		}, "several stores are required (a and b)"},
		"fraction of seconds": {func(c *Config) { c.Slice.Width = 1500 * time.Millisecond }, "slice.width"},
		"not a multiple": {
			func(c *Config) { c.Slice.WidthByMetric = map[string]time.Duration{"m": 15 * time.Second} },
			"slice.width_by_metric.m"},
		"too late":             {func(c *Config) { c.Slice.Lateness = 2 * time.Hour }, "slice.lateness"},
		"too late alone":       {func(c *Config) { c.Slice.LatenessSole = 2 * time.Hour }, "slice.lateness_sole"},
		"Nimbus by name alone": {func(c *Config) { c.Nimbus.Addresses = []string{"nimbus"} }, "nimbus.addresses"},
		"Nimbus without pause": {func(c *Config) { c.Nimbus.Interval = 0 }, "nimbus.interval"},
		"no store":             {func(c *Config) { c.Embedded.Enabled = false }, "there is no other store"},
		"rules need the store": {func(c *Config) {
			c.Embedded.Enabled, c.Rules.Files = false, []string{"r.yml"}
			c.Stores["remote_write"]["m"] = &Store{URL: "http://m/", Timeout: 1, MaxSlices: 1, MaxBytes: 1}
		}, "rules.files requires store.embedded.enabled"},
		"store without url": {func(c *Config) { c.Stores["remote_write"]["m"] = &Store{} },
			"store.remote_write.m.url \"\": missing URL"},
		"secret in a url": {func(c *Config) { c.Stores["remote_write"]["m"] = &Store{URL: "http://u:p@m/"} },
			"store.remote_write.m.url \"http://(hidden)@m/\": a URL holds no user or password here: they belong in http_config_file"},
		"one name twice": {func(c *Config) {
			c.Stores["remote_write"]["m"], c.Stores["influxdb"]["m"] = &Store{},
				&Store{}
		}, "have the same name"},
		"a name of ours": {func(c *Config) { c.Stores["influxdb"]["embedded"] = &Store{} }, "choose another"},
		"neither version": {func(c *Config) { c.Stores["influxdb"]["i"] = &Store{URL: "http://i/"} },
			"store.influxdb.i.bucket is missing"},
		"small journal": {func(c *Config) { c.Journal.MaxBytes = 1 << 20 }, "journal.max_bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			config := Default()
			c.change(&config)
			assert.ErrorContains(t, config.Validate(), c.want)
		})
	}
	open := Default()
	open.GRPC.Listen, open.GRPC.Insecure = "0.0.0.0:4320", true
	assert.NoError(t, open.Validate())
	open.HTTP.Listen = "0.0.0.0:9320"
	assert.ErrorContains(t, open.Validate(), "--http-insecure", "the flag is one port's")
	open.HTTP.WebConfigFile = "web.yml"
	assert.NoError(t, open.Validate(), "what is in it is looked at when it is opened")
}

func TestAMissingFileIsSaid(t *testing.T) {
	c := Default()
	_, err := LoadFile(filepath.Join(t.TempDir(), "none.yaml"), Settings(&c), never)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Mutations of a good file never panic, and whatever is accepted is one of the known settings.
func FuzzLoad(f *testing.F) {
	f.Add("slice:\n  width: 10s\n")
	f.Add("a: &x {b: *x}\n")
	f.Add("? [a]\n: b\n")
	f.Add(strings.Repeat("a:\n ", 50))
	f.Add(strings.Repeat("[", 20_000))
	f.Add("slice: " + strings.Repeat("{a: ", 20_000))
	f.Fuzz(func(t *testing.T, file string) {
		c := Default()
		_, _ = load("f.yaml", []byte(file), Settings(&c), never)
	})
}

// A path in a file starts at the directory of that file; one of a flag at the working directory.
func TestPathsOfAFileStartAtTheFile(t *testing.T) {
	c := Default()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(flags, &c)
	require.NoError(t, flags.Parse([]string{"--runs-dir", "runs"}))
	_, err := load("conf/f.yaml", []byte(`
data_dir: data
rules.files: [a.yml, /etc/b.yml, rules/*.yml]
grpc.tls: {cert_file: ../c.pem, key_file: /k.pem}
store.remote_write.m: {url: http://m/, http_config_file: m.yml}
runs.dir: other
`), Settings(&c), func(s Setting) bool { return flags.Changed(s.Flag()) })
	require.NoError(t, err)
	assert.Equal(t, "conf/data", c.DataDir)
	assert.Equal(t, []string{"conf/a.yml", "/etc/b.yml", "conf/rules/*.yml"}, c.Rules.Files)
	assert.Equal(t, "c.pem", c.GRPC.TLSCertFile)
	assert.Equal(t, "/k.pem", c.GRPC.TLSKeyFile)
	assert.Equal(t, "conf/m.yml", c.Stores["remote_write"]["m"].HTTPConfigFile)
	assert.Equal(t, "runs", c.Runs.Dir)
	none := Default()
	_, err = load("conf/f.yaml", []byte("rules.files: []\n"), Settings(&none), never)
	require.NoError(t, err)
	assert.Empty(t, none.Rules.Files)
	assert.Equal(t, "bullet-metrics-data", none.DataDir)
}

// An empty path is refused wherever a setting takes one: it would mean the working directory, or none.
func TestAnEmptyPathIsRefused(t *testing.T) {
	tried := 0
	c := Default()
	for _, s := range Settings(&c) {
		own, isNamed := s.value.(namedValue)
		value, key := s.value, s.Key
		if isNamed {
			value, key = own.field("m"), strings.Replace(key, anyName, "m", 1)
		}
		if _, is := value.(fileValue); !is {
			continue
		}
		tried++
		require.ErrorContains(t, value.Set(""), "the path is empty", s.Key)
		for _, empty := range []string{`""`, `" "`} {
			if value.Type() == kindList {
				empty = "[" + empty + "]"
			}
			_, err := load("f.yaml", []byte(key+": "+empty+"\n"), Settings(&c), never)
			require.Error(t, err, s.Key)
			assert.Regexp(t, `f.yaml:1: `+key+`(: the path (is empty|" " is blank)| has a value of the wrong shape)`, err.Error())
		}
	}
	assert.Equal(t, 13, tried)
}

// An address of another form is refused with what to write, and no message repeats a password.
func TestAddressesInSettings(t *testing.T) {
	for want, set := range map[string]func(*Config){
		`http.listen "9392": missing host; use HOST:PORT, for example 127.0.0.1:9320`: func(c *Config) {
			c.HTTP.Listen = "9392"
		},
		`grpc.listen "127.0.0.1:99999": port 99999 is above 65535; use HOST:PORT, for example 127.0.0.1:4320`: func(c *Config) {
			c.GRPC.Listen = "127.0.0.1:99999"
		},
		`pprof "6060": missing host`:                          func(c *Config) { c.Pprof = "6060" },
		`pprof "10.0.0.1:6060": other machines could connect`: func(c *Config) { c.Pprof = "10.0.0.1:6060" },
		`http.listen "127.0.0.1:4320": grpc.listen "127.0.0.1:4320" has the same port; use different ports`: func(c *Config) {
			c.HTTP.Listen = "127.0.0.1:4320"
		},
		`pprof "localhost:9320": http.listen "127.0.0.1:9320" has the same port`: func(c *Config) { c.Pprof = "localhost:9320" },
		`nimbus.addresses "nimbus:0": port 0 is not valid for a server`:          func(c *Config) { c.Nimbus.Addresses = []string{"nimbus:0"} },
		`nimbus.addresses "(hidden)@nimbus:6627": an address must not have a user`: func(c *Config) {
			c.Nimbus.Addresses = []string{"u:s3cret@nimbus:6627"}
		},
		`alertmanager.urls "http://(hidden)@a:9093": a URL holds no user or password here: they belong in alertmanager.http_config_file`: func(c *Config) {
			c.Alertmanager.URLs = []string{"http://u:s3cret@a:9093"}
		},
		`alertmanager.urls "http://(hidden)@a:9093/?(hidden)"`: func(c *Config) {
			c.Alertmanager.URLs = []string{"http://u:s3cret@a:9093/?x=s3cret"}
		},
		`alertmanager.urls "a:9093": missing scheme`: func(c *Config) { c.Alertmanager.URLs = []string{"a:9093"} },
		`http.external_url "ftp://(hidden)@a": the scheme is neither http nor https`: func(c *Config) {
			c.HTTP.ExternalURL = "ftp://u:s3cret@a"
		},
		`query.url "http://a:70000": port 70000 is above 65535`: func(c *Config) {
			c.Query.URL, c.Embedded.Enabled = "http://a:70000", false
		},
		`store.remote_write.m.url "http://(hidden)@m/": a URL holds no user or password here: they belong in http_config_file`: func(c *Config) {
			store := defaultStore()
			store.URL = "http://u:s3cret@m/"
			c.Stores["remote_write"]["m"] = &store
		},
	} {
		c := Default()
		set(&c)
		err := c.Validate()
		assert.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "s3cret")
	}
	c := Default()
	c.GRPC.Listen, c.HTTP.Listen = "127.0.0.1:0", "127.0.0.1:0"
	assert.NoError(t, c.Validate(), "the system chooses two ports")
}
