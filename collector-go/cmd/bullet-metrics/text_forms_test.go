package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// textInput is a text file that somebody gives to the program.
type textInput struct {
	text  string
	yaml  bool
	ports string // settings beside the file's own
	args  []string
}

const formedRules = "groups:\n- name: g\n  rules:\n  - record: r\n    expr: up\n"

// textInputs are the files by what they are; FILE stands for the file, and CONFIG for a configuration file that has the
// setting in ports.
var textInputs = map[string]textInput{
	"configuration": {"slice.width: 10s\n", true, "", []string{"serve", "--check", "--config", "FILE"}},
	"rules":         {formedRules, true, "rules.files: [FILE]", []string{"serve", "--check", "--config", "CONFIG"}},
	"http_config of a store": {"proxy_from_environment: false\n", true, "store.remote_write.a: {url: 'http://127.0.0.1:1/', http_config_file: FILE}",
		[]string{"serve", "--check", "--config", "CONFIG"}},
	"http_config of Alertmanagers": {"proxy_from_environment: false\n", true, "alertmanager: {urls: ['http://127.0.0.1:1/'], http_config_file: FILE}",
		[]string{"serve", "--check", "--config", "CONFIG"}},
	"http_config of an engine": {"proxy_from_environment: false\n", true,
		"{store.embedded.enabled: false, query.url: 'http://127.0.0.1:1/', query.http_config_file: FILE, store.remote_write.a.url: 'http://127.0.0.1:1/'}",
		[]string{"serve", "--check", "--config", "CONFIG"}},
	"web configuration": {"http_server_config: {http2: false}\n", true, "http.web_config_file: FILE", []string{"serve", "--check", "--config", "CONFIG"}},
	"tokens of senders": {"cert:a write bullet\n", false, "grpc.token_file: FILE", []string{"serve", "--check", "--config", "CONFIG"}},
	"tokens of readers": {"user:a read\n", false, "http.token_file: FILE", []string{"serve", "--check", "--config", "CONFIG"}},
	"a table":           {"nodes,throughput\n1,10\n2,19\n4,35\n", false, "", []string{"tune", "analyze", "scaling", "--input", "FILE"}},
	"a capture": {`{"now":1795199761000,"ts":1795199760,"interval":10,"host":"h","port":1,"component":"a","task":1,"name":"n","value":1}` + "\n",
		false, "", []string{"replay", "FILE", "--data-dir", "DATA"}},
	"Bullet's settings": {"bullet.topology.metrics.collector.address: 127.0.0.1:1\n", true, "", []string{"doctor", "--collector", "none", "--bullet-conf", "FILE"}},
	"a search": {"experiment: x\ntitle: x\nsearch: {target: {queries: 100, latency: 200ms}}\n", true, "",
		[]string{"tune", "optimize", "FILE", "--simulate", "SPACE", "--dry-run"}},
	"a space":       {formedSpace, true, "", []string{"tune", "optimize", "SEARCH", "--simulate", "FILE", "--dry-run"}},
	"an experiment": {formedExperiment, true, "", []string{"tune", "plan", "FILE"}},
}

const formedSpace = `space: rows
settings: [{name: f, as: filter, values: [4, 8], cost: 1, easier: more}]
table:
  columns: [filter, queries, latency_ms]
  rows:
    - [4, 100, 900]
    - [8, 100, 12]
`

const formedExperiment = `experiment: x
title: Forms
test: 5
analysis: concurrency
goals: [{figure: filter_latency, statistic: mean, at_most: 200ms}]
topology: {conf: x.yaml}
steps: {axis: queries, values: [0, 50], warm_up: 10s, sustain: 20s}
load: {class: raw, records: 10, duration: 10s, matching_per_second: 1.2}
launch: {local: {workers: 2, worker_heap: 384MiB}}
`

// with runs the program on a file with a text, and returns what it prints, or its error, without the file's path.
func (in textInput) with(t *testing.T, text string) string {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	places := strings.NewReplacer("FILE", write("file", text), "SPACE", write("space", formedSpace),
		"SEARCH", write("search", textInputs["a search"].text), "DATA", filepath.Join(dir, "data"))
	write("x.yaml", "bullet.topology.name: x\n")
	settings := places.Replace(in.ports)
	if strings.HasPrefix(settings, "{") {
		settings = strings.ReplaceAll(settings[1:len(settings)-1], ", ", "\n")
	}
	config := write("config", settings+"\n")
	var args []string
	for _, arg := range in.args {
		args = append(args, strings.ReplaceAll(places.Replace(arg), "CONFIG", config))
	}
	if args[0] == "serve" {
		args = append(args, "--data-dir", filepath.Join(dir, "data"), "--grpc-listen=127.0.0.1:0", "--http-listen=127.0.0.1:0")
	}
	said, err := program(args...)
	if err != nil {
		said += "\n" + err.Error()
	}
	return strings.ReplaceAll(said, dir, "DIR")
}

// steady is what does not differ from one run to the next.
func steady(said string) string {
	return regexp.MustCompile(`.*(free|bullet-metrics-storm).*`).ReplaceAllString(said, "")
}

// Whatever a text file is for, it is read in the same forms: with a byte order mark and the line ends of Windows, and
// neither in UTF-16 nor with a second YAML document, which nobody would read.
func TestEveryTextFileIsReadInTheSameForms(t *testing.T) {
	for name, in := range textInputs {
		t.Run(name, func(t *testing.T) {
			plain := in.with(t, in.text)
			require.NotRegexp(t, `WRONG|YAML|could not be read`, plain)
			assert.Equal(t, steady(plain), steady(in.with(t, "\ufeff"+strings.ReplaceAll(in.text, "\n", "\r\n"))), "with a byte order mark")
			var wide strings.Builder
			for _, unit := range utf16.Encode([]rune("\ufeff" + in.text)) {
				wide.Write([]byte{byte(unit), byte(unit >> 8)})
			}
			assert.Contains(t, in.with(t, wide.String()), "DIR/file is UTF-16; save it in UTF-8")
			if in.yaml {
				second := in.with(t, in.text+"---\nmore: 1\n")
				assert.Contains(t, second, "more than one YAML document")
				assert.Regexp(t, `DIR/file:`+strconv.Itoa(strings.Count(in.text, "\n")+2)+`\b`, second)
			}
		})
	}
}
