package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

var updateSweep = flag.Bool("update-sweep", false, "write testdata/sweep.txt")

// sweepBase is a command line of each command that gets as far as it can without a server; DIR is an empty directory,
// and the files in it are those of sweepFiles.
var sweepBase = map[string]string{
	"bench ingest":             "--grpc 127.0.0.1:1 --collector 127.0.0.1:1 --out none",
	"bench query":              "",
	"bench senders":            "--grpc 127.0.0.1:1 --collector 127.0.0.1:1",
	"canary":                   "--url 127.0.0.1:1",
	"demo":                     "--build-dir DIR/none --out DIR/demo",
	"doctor":                   "--collector none --bullet-conf DIR/x.yaml",
	"export blocks":            "--data-dir DIR/none --out DIR/blocks",
	"fsck":                     "--data-dir DIR/none",
	"grafana export":           "--out DIR/grafana",
	"load":                     "--url 127.0.0.1:1 --rate 1 --duration 1s",
	"load client":              "",
	"load merge":               "DIR/empty",
	"query":                    "--data-dir DIR/none up",
	"replay":                   "DIR/empty --data-dir DIR/replayed",
	"runbook":                  "",
	"serve":                    "--check --data-dir DIR/data --grpc-listen 127.0.0.1:0 --http-listen 127.0.0.1:0",
	"status":                   "--collector 127.0.0.1:1",
	"storm snippet":            "--storm 2.8.3",
	"tour":                     "--http-listen 192.0.2.1:0",
	"tune analyze concurrency": "--input DIR/table.csv",
	"tune analyze data":        "--input DIR/table.csv",
	"tune analyze queries":     "--input DIR/table.csv",
	"tune analyze resources":   "--input DIR/table.csv",
	"tune analyze scaling":     "--input DIR/table.csv",
	"tune compare":             "DIR/none DIR/none",
	"tune list":                "",
	"tune optimize":            "DIR/search.yaml --simulate DIR/space.yaml",
	"tune plan":                "DIR/experiment.yaml",
	"tune predict":             "--from DIR/table.csv",
	"tune report":              "DIR/none",
	"tune run":                 "DIR/experiment.yaml --build-dir DIR/none --out DIR/run",
	"tune size":                "--records-per-s 1000 --queries 10 --from DIR/table.csv",
	"version":                  "",
	"why":                      "--alert X --collector 127.0.0.1:1",
}

// hostile are values that nobody means, by what a flag takes.
var hostile = map[string][]string{
	"path":   {"", " ", "DIR/missing/file", "DIR", "DIR/bom", "a\x00b", "a\nb", "../..", "😀", "LONG"},
	"text":   {"", " ", "a\x00b", "a\nb", "../..", "😀", "http://u:s3cret@h", "LONG", "\ufeff", "-1"},
	"number": {"", " ", "-1", "99999999999999999999", "NaN", "1e400", "0x10", "1,5", "5 m", "😀"},
	"time":   {"", " ", "-1s", "99999999999999999999h", "NaN", "1e400s", "5 m", "10", "1,5s", "😀"},
	"bool":   {"", " ", "yes", "2", "NaN", "tru", "😀", "-1", "a\nb", "LONG"},
}

// kindOf is what a flag takes. A new flag's kind follows from its type.
func kindOf(f *pflag.Flag) string {
	_, isPath := f.Value.(textfile.FlagValue)
	switch kind := f.Value.Type(); {
	case isPath:
		return "path"
	case kind == "bool":
		return "bool"
	case kind == "duration":
		return "time"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), strings.HasPrefix(kind, "float"), kind == "bytes":
		return "number"
	}
	return "text"
}

// serveFlag is a flag of serve.
func serveFlag(name string) *pflag.Flag { return newServeCommand().Flags().Lookup(name) }

// sweepReasons are why a value is not refused as wrong usage, by command, name and value.
var sweepReasons = []struct {
	of  *regexp.Regexp
	why string
}{
	{regexp.MustCompile(`^doctor --(jar|log|bullet-conf)=`), "the doctor reports it as a finding"},
	{regexp.MustCompile(`^(doctor|load|load merge|query|status|why|bench \w+) --(collector|url)=http|^(load|canary) --(source|url)=http|^tune \w+ --\w+=http`),
		"a URL may hold a user and a password, which are not printed"},
	{regexp.MustCompile(`^(load|canary) --query=`), "any text may be BQL; who answers it judges it"},
	{regexp.MustCompile(`^demo --setting=`), "Storm's command line takes any setting"},
	{regexp.MustCompile(`--(out|dir|figures|runs|build-dir|data-dir|dashboards-dir|outcomes|histogram|picture|bullet-conf)=`),
		"a path may name what is made, or is looked for when the command needs it"},
	{regexp.MustCompile(`^grafana export --`), "a path on Grafana's machine"},
	{regexp.MustCompile(`--(alert|topology|function|host|storm-version)=`), "any line of text may be a name"},
	{regexp.MustCompile(`^(why|query|export blocks) --(time|start|end)=`), "read once there is something to ask"},
	{regexp.MustCompile(`=0x10$|=99999999999999999999$|=1,5$`), "a number, or two"},
	{regexp.MustCompile(`^\S.* --(input|from)=`), "a directory of a run, or a table, that has none in it"},
	{regexp.MustCompile(`=DIR/bom$`), "an empty file"},
	{regexp.MustCompile(`^serve (--)?[a-z.-]+[._-](urls|hosts|addresses|files)= *$`), "a list without entries"},
	{regexp.MustCompile(`^serve (--)?store[.-]influxdb[.-](m[.])?\w+=`), "a name at InfluxDB, which judges it"},
	{regexp.MustCompile(`^serve (http.(external|grafana)_url|query.url|pprof)=$`), "none"},
	{regexp.MustCompile(`^serve (--)?(data|runs)[._-]dir=`), "a path may be relative, and have any name"},
}

// internal are words of Go and of libraries that say nothing to who typed the value.
var internal = regexp.MustCompile(`strconv\.|open : |runtime error|json: cannot|yaml: unmarshal|reflect[.:]|context deadline exceeded|panic|%!|goroutine|parsing "`)

// swept runs a command line, which starts nothing since its context has ended.
func swept(args []string) (said string, code int) {
	defer func() {
		if r := recover(); r != nil {
			said, code = fmt.Sprint("panic: ", r), -1
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	root := newRootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		var wrong []string
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "WRONG") {
				wrong = append(wrong, strings.TrimSpace(line))
			}
		}
		return strings.Join(append(wrong, err.Error()), "; "), exitCode(err)
	}
	return "", exitDone
}

// leaves are the commands that do something.
func leaves(command *cobra.Command, path string, visit func(path string, command *cobra.Command)) {
	for _, below := range command.Commands() {
		if below.IsAvailableCommand() && below.Name() != "completion" {
			leaves(below, strings.TrimSpace(path+" "+below.Name()), visit)
		}
	}
	if command.Runnable() && path != "" && (len(command.Commands()) == 0 || path == "load") {
		visit(path, command)
	}
}

// What each command does with hostile values of each of its flags stands in testdata/sweep.txt: a value is refused with
// exit code 2 and a message that names the flag, or it is one that means something.
func TestSweepOfHostileValues(t *testing.T) {
	home, err := os.Getwd()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "a", "b", "c") // ../.. stays within
	require.NoError(t, os.MkdirAll(dir, 0o700))
	t.Chdir(dir)
	for name, text := range map[string]string{"bom": "\ufeff", "empty": "", "table.csv": "nodes,throughput\n1,10\n2,19\n",
		"search.yaml": "experiment: x\ntitle: x\nsearch: {target: {queries: 100, latency: 200ms}}\n", "space.yaml": formedSpace,
		"experiment.yaml": formedExperiment, "x.yaml": "bullet.topology.name: x\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	sweep := sweeping{t: t, dir: dir, rows: map[string][]string{}}
	leaves(newRootCommand(), "", func(path string, command *cobra.Command) {
		base, known := sweepBase[path]
		require.True(t, known, "%s is not in sweepBase", path)
		command.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || f.Name == "version" || f.Hidden { // hidden: another name of a flag
				return
			}
			for _, value := range hostile[kindOf(f)] {
				args := strings.Fields(path + " " + strings.ReplaceAll(base, "DIR", dir))
				sweep.row("--"+f.Name, value, path, append(args, "--"+f.Name+"="+sweep.filled(value, 1<<20)))
			}
		})
	})
	c := config.Default()
	for _, s := range config.Settings(&c) {
		key := strings.Replace(s.Key, ".NAME.", ".m.", 1)
		for _, value := range slices.Concat(hostile[kindOf(serveFlag(s.Flag()))], []string{"[[]]", "{a: {b: c}}"}) {
			text, err := json.Marshal(sweep.filled(value, 100<<10))
			require.NoError(t, err)
			lines := key + ": " + string(text) + "\n"
			if strings.HasPrefix(value, "[[") || strings.HasPrefix(value, "{a") {
				lines = key + ": " + value + "\n"
			}
			for other, usual := range map[string]string{"data_dir": dir + "/data", "grpc.listen": "127.0.0.1:0", "http.listen": "127.0.0.1:0",
				"store.remote_write.m.url": "http://127.0.0.1:1/", "store.influxdb.m.url": "http://127.0.0.1:1/",
				"store.influxdb.m.database": "d"} {
				of, _, named := strings.Cut(other, ".m.")
				if other != key && (!named || strings.HasPrefix(key, of+".")) {
					lines += other + ": " + usual + "\n"
				}
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte(lines), 0o600))
			sweep.row(key, value, "serve", []string{"serve", "--check", "--config", filepath.Join(dir, "settings.yaml")})
		}
	}
	var table strings.Builder
	for _, row := range slices.Sorted(maps.Keys(sweep.rows)) {
		fmt.Fprintf(&table, "%s\t%s\n", row, strings.Join(sweep.rows[row], ", "))
	}
	const golden = "testdata/sweep.txt"
	if *updateSweep {
		require.NoError(t, os.WriteFile(filepath.Join(home, golden), []byte(table.String()), 0o644))
	}
	want, err := os.ReadFile(filepath.Join(home, golden))
	require.NoError(t, err)
	assert.Equal(t, string(want), table.String(), "go test ./cmd/bullet-metrics -run SweepOf -update-sweep")
}

type sweeping struct {
	t    *testing.T
	dir  string
	rows map[string][]string
}

func (s *sweeping) filled(value string, long int) string {
	return strings.ReplaceAll(strings.ReplaceAll(value, "DIR", s.dir), "LONG", strings.Repeat("x", long))
}

// row plays a value and notes what became of it.
func (s *sweeping) row(name, value, path string, args []string) {
	said, code := swept(args)
	assert.NotRegexp(s.t, internal, said, "%s %s=%.40q", path, name, value)
	assert.Less(s.t, len(said), 2000, "%s %s=%.40q", path, name, value)
	outcome := "refused"
	if code != exitUsage {
		outcome = s.reason(name, value, path, said)
	} else {
		plain := strings.NewReplacer(".", "-", "_", "-") // a key of a file is also a flag
		named := strings.Contains(plain.Replace(said), plain.Replace(strings.TrimPrefix(name, "--"))) ||
			strings.HasPrefix(name, "--tls-") && strings.Contains(said, "--tls") ||
			strings.HasPrefix(value, "DIR") && strings.Contains(said, s.filled(value, 0))
		assert.True(s.t, named, "%s %s=%.40q: %s", path, name, value, said)
	}
	row := fmt.Sprintf("%s=%q\t%s", name, value, outcome)
	if !slices.Contains(s.rows[row], path) {
		s.rows[row] = append(s.rows[row], path)
	}
}

// reason is why a value is not refused as wrong usage.
func (s *sweeping) reason(name, value, path, said string) string {
	for _, r := range sweepReasons {
		if r.of.MatchString(path + " " + name + "=" + value) {
			return r.why
		}
	}
	assert.Fail(s.t, "a value that is taken for no reason", "%s %s=%.40q: %.300s", path, name, value, said)
	return "?"
}
