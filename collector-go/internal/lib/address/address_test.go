package address

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAddressesAreChecked(t *testing.T) {
	for text, want := range map[string]struct{ listen, server string }{
		"127.0.0.1:9320":      {},
		"collector:4320":      {},
		"a_b.example.:1":      {},
		"bücher.example:80":   {},
		"[::1]:65535":         {},
		"[fe80::1%eth0]:1":    {},
		":9320":               {server: "missing host"},
		"localhost:0":         {server: "port 0 is not valid for a server"},
		"":                    {"missing host and port", "missing host and port"},
		":":                   {"missing port", "missing host"},
		"9392":                {"missing host", "missing host"},
		"localhost":           {"missing port", "missing port"},
		"localhost:":          {"missing port", "missing port"},
		"::1":                 {"write an IPv6 address in brackets", "write an IPv6 address in brackets"},
		"[::1]":               {"missing port", "missing port"},
		"a:b:1":               {"more than one colon", "more than one colon"},
		"a:99999":             {"port 99999 is above 65535", "port 99999 is above 65535"},
		"a:-1":                {`port "-1" is not a number`, `port "-1" is not a number`},
		"a:http":              {`port "http" is not a number`, `port "http" is not a number`},
		"a:1,b:2":             {"more than one address", "more than one address"},
		"a:1;b:2":             {"more than one address", "more than one address"},
		"http://a:1":          {"must not have a scheme", "must not have a scheme"},
		"a:1/path":            {"must not have a path", "must not have a path"},
		"user:secret@a:1":     {"must not have a user or password", "must not have a user or password"},
		"300.1.1.1:1":         {`"300.1.1.1" is not an IPv4 address`, `"300.1.1.1" is not an IPv4 address`},
		"[::zz]:1":            {`"::zz" is not an IPv6 address`, `"::zz" is not an IPv6 address`},
		"a b:1":               {"is not a host name", "is not a host name"},
		"a..b:1":              {"is not a host name", "is not a host name"},
		"-a:1":                {"is not a host name", "is not a host name"},
		"a\x00:1":             {"is not a host name", "is not a host name"},
		"$(id):1":             {"is not a host name", "is not a host name"},
		"\ufeffcollector:1":   {"is not a host name", "is not a host name"},
		"*:9320":              {"is not a host name", "is not a host name"},
		"18446744073709551:1": {"is not an IPv4 address", "is not an IPv4 address"},
	} {
		judge(t, "listen "+text, HostPort(text).Listen("127.0.0.1:9320"), want.listen)
		judge(t, "server "+text, HostPort(text).Server("127.0.0.1:9320"), want.server)
	}
	err := fmt.Errorf("http.listen %w", HostPort("9392").Listen("127.0.0.1:9320"))
	assert.EqualError(t, err, `http.listen "9392": missing host; use HOST:PORT, for example 127.0.0.1:9320`)
}

func judge(t *testing.T, what string, err error, want string) {
	t.Helper()
	if want == "" {
		assert.NoError(t, err, what)
		return
	}
	if assert.ErrorContains(t, err, want, what) {
		assert.Regexp(t, `; use .*, for example `, err.Error(), what)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestURLsAreChecked(t *testing.T) {
	plain := Form{Example: "http://127.0.0.1:9093"}
	for text, want := range map[string]string{
		"http://a":                     "",
		"HTTPS://a:443/path/":          "",
		"http://[::1]:9090":            "",
		"http://user:secret@a:1":       "",
		"":                             "missing URL",
		"a:9093":                       "missing scheme",
		"a":                            "missing scheme",
		"//a":                          "missing scheme",
		"http:/a":                      "missing scheme",
		"ftp://a":                      "neither http nor https",
		"://a":                         "neither http nor https",
		"http://":                      "missing host",
		"http:///path":                 "missing host",
		"http://:9093":                 "missing host",
		"http://a:":                    "missing port",
		"http://a:99999":               "port 99999 is above 65535",
		"http://a:0":                   "port 0 is not valid",
		"http://a:b":                   "the port is not a number",
		"http://a b":                   "invalid character in the host name",
		"http://a%zz":                  "hexadecimal",
		"http://a\n":                   "control character",
		"http://a/?token=secret":       "has no query here",
		"http://a/?":                   "has no query here",
		"http://a/#secret":             "has no fragment here",
		"http://a,b:1":                 "several hosts",
		"http://a:1,http://b:2":        "several URLs",
		"http://1.2.3:80":              "is not an IPv4 address",
		"http://user:se/secret@a:9093": "the port is not a number",
		"http://user:%zzsecret@a:9093": "hexadecimal",
	} {
		_, err := URL(text).Parse(plain)
		judge(t, text, err, want)
	}
	secret := Form{Example: "http://a:1", Secrets: "query.http_config_file"}
	_, err := URL("http://user:secret@host:9090/?x=1").Parse(secret)
	judge(t, "secrets", err, `"http://(hidden)@host:9090/?(hidden)": a URL holds no user or password here: they belong in query.http_config_file`)
	read, err := URL("http://user:secret@host:9090/?db=1").Parse(Form{Query: true})
	require.NoError(t, err)
	assert.Equal(t, "db=1", read.RawQuery)
	read, err = URL("host:9090").Parse(Form{HostPort: true})
	require.NoError(t, err)
	assert.Equal(t, "http://host:9090", read.String())
	_, err = URL("host:99999").Parse(Form{HostPort: true, Example: "a:1"})
	judge(t, "host and port", err, `"host:99999": port 99999 is above 65535; use HOST:PORT, http://HOST:PORT`)
}

// No way in which the program prints a value reveals a secret.
func TestNoWayOfPrintingRevealsASecret(t *testing.T) {
	for _, text := range []string{"http://user:s3cret@host:1/x", "http://s3cret@host:1/x", "http://user:s3/cret?#@host:1/x",
		"http://host:1/x?token=s3cret", "http://host:1/x#s3cret", "user:s3cret@host:1"} {
		var logged strings.Builder
		slog.New(slog.NewTextHandler(&logged, nil)).Info("m", "url", URL(text), "address", HostPort(text))
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("m", "url", URL(text), "address", HostPort(text))
		asJSON, err := json.Marshal(map[string]any{"u": URL(text), "a": HostPort(text)})
		require.NoError(t, err)
		all := fmt.Sprintf("%s %v %q %+v %s %v", URL(text), URL(text), URL(text), struct{ U URL }{URL(text)},
			HostPort(text), []URL{URL(text)}) + logged.String() + string(asJSON)
		assert.NotContains(t, all, "s3", text)
		assert.NotContains(t, all, "cret", text)
		assert.Contains(t, all, "host:1", text)
	}
	assert.Equal(t, `Get "http://(hidden)@host:1/": refused`, Hide(`Get "http://user:s3cret@host:1/": refused`))
	assert.Equal(t, "mail me@example.com, see http://host/", Hide("mail me@example.com, see http://host/"))
}

func TestAddressesOfOnePortOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b HostPort
		want bool
	}{
		{"127.0.0.1:1", "127.0.0.1:1", true}, {"127.0.0.1:1", "127.0.0.1:2", false}, {":1", "10.0.0.1:1", true},
		{"0.0.0.0:1", "host:1", true}, {"[::]:1", "127.0.0.1:1", true}, {"localhost:1", "127.0.0.1:1", true},
		{"localhost:1", "[::1]:1", true}, {"127.0.0.1:0", "127.0.0.1:0", false}, {"127.0.0.1:1", "10.0.0.1:1", false},
		{"[::ffff:127.0.0.1]:1", "127.0.0.1:1", true}, {"127.0.0.1:01", "127.0.0.1:1", true}, {"", "", false},
		{"Host:1", "host:1", true},
	} {
		assert.Equal(t, c.want, c.a.Overlaps(c.b), "%s and %s", c.a, c.b)
		assert.Equal(t, c.want, c.b.Overlaps(c.a), "%s and %s", c.b, c.a)
	}
}
