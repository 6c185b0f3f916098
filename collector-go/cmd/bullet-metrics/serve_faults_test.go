package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

// brokenSettings are configurations with one fault each, and what is said of it. FILES stands for a directory with the
// files of brokenFiles.
var brokenSettings = map[string]string{
	// values that cannot be read
	"journal.max_bytes: 3 apples":                        "is not a number of bytes",
	"journal.segment_bytes: many":                        "is not a number of bytes",
	"slice.width: ten":                                   "is not a duration",
	"rules.interval: 99999999999999999999s":              "is not a duration",
	"nimbus.interval: soon":                              "is not a duration",
	"query.max_samples: NaN":                             "is not a whole number",
	"query.max_depth: 1e400":                             "is not a whole number",
	"limits.streams: 99999999999999999999":               "is not a whole number",
	"limits.batch_bytes: -1":                             "must be greater than 0",
	"store.embedded.enabled: maybe":                      "is not true or false",
	"{grpc.insecure: perhaps, grpc.listen: '0.0.0.0:0'}": "is not true or false",
	"log.level: loud":                                    "not one of debug",
	"slice.widht: 10s":                                   "did you mean",
	"{grpc.tls.cert_file: FILES/good.crt, grpc.tls.key_file: FILES/good.key, grpc.tokn_file: x}": "did you mean",
	"data_dir:":               "wrong shape",
	"runs.dir: ''":            "the path is empty",
	"rules.files: [a.yml,'']": "wrong shape",
	"slice.width: 10s\n---\nslice.width: 20s": "more than one YAML document",
	"slice: [": "config.yaml: [",
	// values that do not fit
	"slice.width: 7s": "must divide 1m",
	"{slice.width: 10s, slice.width_by_metric: {a: 15s}}": "multiple of slice.width",
	"slice.lateness: 2h":                                                      "between 0s and 1h",
	"journal: {max_bytes: 1MiB, segment_bytes: 1MiB}":                         "two segments",
	"http.external_url: 'ftp://a/'":                                           "http.external_url",
	"alertmanager.urls: ['http://u:p@a:1/']":                                  "alertmanager.urls",
	"alertmanager.http_config_file: FILES/http.yml":                           "set without alertmanager.urls",
	"query.http_config_file: FILES/http.yml":                                  "set without query.url",
	"query.url: 'http://127.0.0.1:1'":                                         "store.embedded.enabled",
	"nimbus.addresses: [nimbus]":                                              "HOST:PORT",
	"grpc.listen: here":                                                       "grpc.listen",
	"grpc.listen: '0.0.0.0:0'":                                                "connect without TLS",
	"http.listen: '0.0.0.0:0'":                                                "connect without TLS",
	"pprof: '0.0.0.0:0'":                                                      "use a loopback address",
	"grpc.tls.cert_file: FILES/good.crt":                                      "belong together",
	"{grpc.tls.cert_file: FILES/good.crt, grpc.tls.key_file: FILES/good.key}": "everybody could write",
	"{grpc.tls: {cert_file: FILES/good.crt, key_file: FILES/good.key, client_ca_file: FILES/good.crt}}": "every certificate of that CA",
	"grpc.tls.client_ca_file: FILES/good.crt":                                                           "requires grpc.tls.cert_file",
	"grpc.acknowledge: forwarded":                                                                       "no store is required",
	"store.embedded.enabled: false":                                                                     "there is no other store",
	"store.remote_write.a.timeout: 1s":                                                                  "store.remote_write.a",
	"store.remote_write.embedded.url: 'http://127.0.0.1:1/'":                                            "is reserved",
	"{store.remote_write.a.url: 'http://127.0.0.1:1/', store.influxdb.a: {url: 'http://127.0.0.1:1/', database: d}}": "have the same name",
	"limits.samples_per_second_per_topology: -1": "limits.samples_per_second_per_topology",
	"store.embedded.retention_bytes: -1":         "store.embedded.retention_bytes is -1",
	"store.embedded.retention_time: -1s":         "store.embedded.retention_time",
	"shutdown.timeout: -1s":                      "shutdown.timeout",
	"query.lookback: 0s":                         "query.lookback must be greater than 0",
	"http.allowed_hosts: ['http://a']":           "not a host name",
	"http.allowed_hosts: ['a:9320']":             "not a host name",
	// files that settings name
	"rules.files: [FILES/none.yml]":       "no such file",
	"rules.files: [FILES/two.yml]":        "more than one YAML document",
	"rules.files: [FILES]":                "is a directory",
	"rules.files: ['[']":                  "rules.files",
	"grpc.token_file: FILES/none":         "no such file",
	"grpc.token_file: FILES/empty":        "contains no entry",
	"http.token_file: FILES/empty":        "contains no entry",
	"http.web_config_file: FILES/two.yml": "more than one YAML document",
	"http.web_config_file: FILES/none":    "no such file",
	"{grpc.tls: {cert_file: FILES/none, key_file: FILES/none}, grpc.token_file: FILES/tokens}":   "no such file",
	"store.remote_write.a: {url: 'http://127.0.0.1:1/', http_config_file: FILES/two.yml}":        "more than one YAML document",
	"store.remote_write.a: {url: 'http://127.0.0.1:1/', http_config_file: FILES/none}":           "no such file",
	"alertmanager: {urls: ['http://127.0.0.1:1/'], http_config_file: FILES/wrong.yml}":           `unknown field "usr"`,
	"{grpc.tls: {cert_file: FILES/c.pem, key_file: FILES/k.pem}, grpc.token_file: FILES/tokens}": "failed to find any PEM data",
	"runs.dir: FILES/none":     "no such file",
	"runs.dir: FILES/tokens":   "is not a directory",
	"data_dir: FILES/tokens":   "data_dir",
	"data_dir: FILES/tokens/x": "data_dir",
}

var brokenFiles = map[string]string{
	"two.yml": "groups: []\n---\ngroups: []\n", "empty": "# nobody\n", "tokens": "cert:a write\n", "http.yml": "follow_redirects: false\n",
	"wrong.yml": "basic_auth: {usr: x}\n", "c.pem": "no certificate\n", "k.pem": "no key\n",
}

// serveUntilUp is serve, asked to end as soon as it is up.
func serveUntilUp(args ...string) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	root := newRootCommand()
	root.SetOut(&bytes.Buffer{})
	root.SetArgs(append([]string{"serve"}, args...))
	return root.ExecuteContext(ctx)
}

// What serve would fail on, serve --check finds, in the same words; and each fault is one.
func TestServeCheckFindsWhatServeFailsOn(t *testing.T) {
	files := t.TempDir()
	accesstest.NewAuthority(t, "ours").Issue(files, "good", time.Now().Add(time.Hour*1000))
	for name, text := range brokenFiles {
		require.NoError(t, os.WriteFile(filepath.Join(files, name), []byte(text), 0o600))
	}
	for settings, want := range brokenSettings {
		t.Run(settings, func(t *testing.T) {
			dir, err := os.MkdirTemp(files, "")
			require.NoError(t, err)
			settings = strings.ReplaceAll(settings, "FILES", files)
			config := filepath.Join(dir, "config.yaml")
			require.NoError(t, os.WriteFile(config, []byte(settings+"\n"), 0o600))
			args := []string{"--config", config}
			for key, flag := range map[string]string{"grpc.listen": "--grpc-listen=127.0.0.1:0", "http.listen": "--http-listen=127.0.0.1:0",
				"data_dir": "--data-dir=" + filepath.Join(dir, "data")} {
				if !strings.Contains(settings, key) {
					args = append(args, flag)
				}
			}
			said, err := program(append([]string{"serve", "--check"}, args...)...)
			require.Error(t, err, said)
			assert.Equal(t, exitUsage, exitCode(err), said)
			faults := regexp.MustCompile(`(?m)^WRONG +(.*(?:\n {13}.*)*)`).FindAllStringSubmatch(said, -1)
			require.Len(t, faults, 1, said)
			assert.Contains(t, faults[0][1], want)
			refused := serveUntilUp(args...)
			require.Error(t, refused, "serve starts")
			lines := slices.Compact(strings.Split(refused.Error(), "\n"))
			assert.Len(t, lines, 1, refused.Error())
			assert.Contains(t, lines[0], want)
		})
	}
}
