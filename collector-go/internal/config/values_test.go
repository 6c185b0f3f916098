package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file that is read again gives what it says then, and flags win over it as before.
func TestAFileThatIsReadAgain(t *testing.T) {
	c := Default()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(flags, &c)
	require.NoError(t, flags.Parse([]string{"--journal-max-bytes", "1GiB", "--store-remote-write-url", "b=http://flag"}))
	asked, file := c.Clone(), filepath.Join(t.TempDir(), "c.yaml")
	read := func(text string) Config {
		t.Helper()
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		again := asked.Clone()
		_, err := LoadFile(file, Settings(&again), func(s Setting) bool { return flags.Changed(s.Flag()) })
		require.NoError(t, err)
		return again
	}
	changed := func(before, after Config) (keys []string) {
		old, now := before.Values(), after.Values()
		for key := range now {
			if old[key] != now[key] {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		return keys
	}
	first := read("slice.width: 20s\nstore.remote_write.a.url: http://a\nrules.files: [x.yml]\n")
	assert.Equal(t, "http://flag", first.Stores["remote_write"]["b"].URL)
	assert.Empty(t, changed(first, read("rules: {files: [x.yml]}\nslice.width: 20s\nstore.remote_write.a.url: http://a")))
	assert.Equal(t, []string{"http.listen", "rules.files", "slice.width"}, changed(first,
		read("store.remote_write.a.url: http://a\nrules.files: [y.yml]\nhttp.listen: 127.0.0.1:1\njournal.max_bytes: 7")))
	assert.Equal(t, []string{"rules.files", "slice.width", "store.remote_write.a.timeout"}, changed(first,
		read("store.remote_write.a: {url: http://a, timeout: 1s}\nstore.remote_write.b.url: http://file")))
	removed := read("slice.width: 20s\nrules.files: [x.yml]")
	assert.NotContains(t, removed.Values(), "store.remote_write.a.url")
	assert.Equal(t, "http://a", first.Values()["store.remote_write.a.url"], "what was read first is as it was")
}

// A client learns the address and the credentials that senders need.
func TestPublicTellsHowSendersReachTheCollector(t *testing.T) {
	for _, c := range []struct{ listen, listening, external, want string }{
		{"127.0.0.1:0", "127.0.0.1:41999", "http://metrics.example", "127.0.0.1:41999"},
		{"collector.example:4320", "10.0.0.7:4320", "", "collector.example:4320"},
		{"10.0.0.7:4320", "10.0.0.7:4320", "http://metrics.example", "10.0.0.7:4320"},
		{"0.0.0.0:4320", "[::]:4320", "", "[::]:4320"},
		{":0", "[::]:41999", "https://metrics.example:9320/x", "metrics.example:41999"},
		{"[::1]:4320", "[::1]:4320", "", "[::1]:4320"},
	} {
		s := Default()
		s.GRPC.Listen, s.HTTP.ExternalURL = c.listen, c.external
		assert.Equal(t, c.want, s.Public(c.listening)["grpc.listen"], "%v", c)
	}
	s := Default()
	assert.Equal(t, []string{"false", "false", "false"}, credentials(s))
	s.GRPC.TLSCertFile, s.GRPC.TokenFile = "cert.pem", "access"
	assert.Equal(t, []string{"true", "false", "true"}, credentials(s))
	s.GRPC.ClientCAFile = "clients.pem"
	assert.Equal(t, []string{"true", "true", "true"}, credentials(s))
}

func credentials(c Config) []string {
	public := c.Public("127.0.0.1:4320")
	return []string{public["grpc.tls"], public["grpc.client_certificate"], public["grpc.token"]}
}
