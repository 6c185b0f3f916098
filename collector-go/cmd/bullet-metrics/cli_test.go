package main

import (
	"bytes"
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

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/runbook"
)

// printed runs a command line to its end, and returns what it prints to stdout and to stderr.
func printed(t *testing.T, args ...string) (out, said string, err error) {
	var stdout, stderr bytes.Buffer
	root := newRootCommand()
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(args)
	if len(args) > 0 && args[0] == cobra.ShellCompNoDescRequestCmd {
		addCompletions(root)
	}
	err = execute(t.Context(), root)
	return stdout.String(), stderr.String(), err
}

// Each command of the help is in a group, and README's table has the same groups with the same commands.
func TestCommandsAreInGroups(t *testing.T) {
	root := newRootCommand()
	var titles []string
	for _, g := range root.Groups() {
		titles = append(titles, g.ID)
	}
	require.Equal(t, []string{"Run it", "Tune it", "Try it", "Data", "Measure it"}, titles)
	want := map[string][]string{}
	for _, command := range root.Commands() {
		if command.GroupID != "" {
			want[command.GroupID] = append(want[command.GroupID], command.Name())
		} else {
			assert.Contains(t, []string{"help", "version"}, command.Name())
		}
	}
	page, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	found, group := map[string][]string{}, ""
	span := regexp.MustCompile("`([a-z]+)( [a-z]+)?`")
	rows := regexp.MustCompile("(?m)^\\| (?:([A-Z][a-z]+(?: it)?) )?\\| (`[a-z][^|]*) \\|")
	for _, row := range rows.FindAllStringSubmatch(string(page), -1) {
		if row[1] != "" {
			group = row[1]
		}
		for i, name := range span.FindAllStringSubmatch(row[2], -1) {
			if i == 0 || !strings.Contains(span.FindString(row[2]), " ") { // else a subcommand of the first
				found[group] = append(found[group], name[1])
			}
		}
	}
	for title, names := range found {
		slices.Sort(names)
		found[title] = slices.Compact(names)
	}
	assert.Equal(t, want, found)

	help, _, err := printed(t, "--help")
	require.NoError(t, err)
	at := -1
	for _, title := range titles {
		next := strings.Index(help, "\n"+title+":\n")
		assert.Greater(t, next, at, title)
		at = next
	}
	assert.Contains(t, help, "Each flag is also an environment variable")
}

// eachFlag visits the flags of all commands, without the old names.
func eachFlag(visit func(path string, f *pflag.Flag)) {
	leaves(newRootCommand(), "", func(path string, command *cobra.Command) {
		command.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				visit(path, f)
			}
		})
	})
}

// A flag takes values of one kind, whatever the command.
func TestAFlagHasOneMeaning(t *testing.T) {
	several := map[string]bool{
		"queries": true, // numbers of queries: one, several, or not whole when predicted
		"step":    true, // an interval, which query takes in seconds too, as Prometheus' API does
	}
	kinds, first := map[string]string{}, map[string]string{}
	eachFlag(func(path string, f *pflag.Flag) {
		kind := f.Value.Type()
		if was, known := kinds[f.Name]; known && !several[f.Name] {
			assert.Equal(t, was, kind, "--%s of %s and of %s", f.Name, first[f.Name], path)
		}
		kinds[f.Name], first[f.Name] = kind, path
		switch f.Name {
		case "collector":
			assert.True(t, strings.HasPrefix(f.Usage, "HTTP address of "), path)
		case "grpc":
			assert.True(t, strings.HasPrefix(f.Usage, "gRPC address of "), path)
		case "target":
			assert.True(t, strings.HasPrefix(f.Usage, "endpoint for the queries"), path)
		case "output":
			assert.Equal(t, "o", f.Shorthand, path)
			assert.NotEmpty(t, f.Annotations[oneOfValues], path)
		}
	})
}

// An old name does what the new one does, and says so on stderr only.
func TestOldNamesOfFlags(t *testing.T) {
	values := map[string]string{"grpc": "127.0.0.1:1", "out": "DIR", "datasource-url": "http://a.example", "query-limit": "5"}
	for _, r := range renamedFlags {
		root := newRootCommand()
		command, _, err := root.Find(strings.Fields(r.command))
		require.NoError(t, err)
		var stdout, stderr bytes.Buffer
		root.SetOut(&stdout)
		root.SetErr(&stderr)
		require.NoError(t, command.ParseFlags([]string{"--" + r.old, values[r.now]}))
		require.NoError(t, checkFlags(command, nil))
		assert.Equal(t, values[r.now], command.Flags().Lookup(r.now).Value.String())
		assert.True(t, command.Flags().Changed(r.now))
		assert.Empty(t, stdout.String())
		assert.Equal(t, "bullet-metrics "+r.command+": --"+r.old+" is now --"+r.now+
			"; the next release accepts only the new name\n", stderr.String())
		assert.NotContains(t, command.UsageString(), "--"+r.old+" ")
	}
	out, said, err := printed(t, "grafana", "export", "--dir", t.TempDir())
	require.NoError(t, err)
	assert.NotContains(t, out, "is now")
	assert.Equal(t, 1, strings.Count(said, "\n"))
}

func TestEnvironmentVariablesSetFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(file, []byte("log.format: xml\n"), 0o600))
	for name, c := range map[string]struct {
		variables map[string]string
		args      []string
		want, not string
	}{
		"a flag":               {map[string]string{"OUTPUT": "json"}, []string{"version"}, `"version"`, ""},
		"the command line":     {map[string]string{"OUTPUT": "json"}, []string{"version", "-o", "text"}, "bullet-metrics unknown", ""},
		"empty is not set":     {map[string]string{"OUTPUT": ""}, []string{"version"}, "bullet-metrics unknown", ""},
		"unknown":              {map[string]string{"OUTPUTS": "json"}, []string{"version"}, "bullet-metrics unknown", ""},
		"a list":               {map[string]string{"ADDRESS": "a:1,b:2"}, []string{"storm", "snippet", "--storm", "2.8.3"}, "  - \"a:1\"\n  - \"b:2\"\n", ""},
		"a switch":             {map[string]string{"PLAIN": "true"}, []string{"storm", "snippet", "--storm", "2.8.3"}, "topology.metrics.consumer.register", ""},
		"before the file":      {map[string]string{"LOG_FORMAT": "text", "CONFIG": file}, []string{"serve", "--check"}, "settings", "xml"},
		"wrong form":           {map[string]string{"OUTPUT": "xml"}, []string{"version"}, `--output "xml": use text or json (set by BULLET_METRICS_OUTPUT)`, ""},
		"not a number":         {map[string]string{"EXECUTORS": "many"}, []string{"storm", "snippet"}, `--executors "many": use a whole number (set by BULLET_METRICS_EXECUTORS)`, ""},
		"below zero":           {map[string]string{"WAIT": "-1s"}, []string{"doctor"}, `(set by BULLET_METRICS_WAIT)`, ""},
		"not an address":       {map[string]string{"COLLECTOR": "ftp://x"}, []string{"why", "--alert", "X"}, `(set by BULLET_METRICS_COLLECTOR)`, ""},
		"a setting":            {map[string]string{"SLICE_WIDTH": "ten"}, []string{"serve"}, `(set by BULLET_METRICS_SLICE_WIDTH)`, ""},
		"a setting's value":    {map[string]string{"SLICE_WIDTH": "1500ms"}, []string{"serve", "--check"}, `(set by BULLET_METRICS_SLICE_WIDTH)`, ""},
		"a flag names no more": {map[string]string{"OUTPUT": "json"}, []string{"version", "-o", "xml"}, `--output "xml": use text or json`, "set by"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for variable, value := range c.variables {
				t.Setenv(variablePrefix+variable, value)
			}
			args := c.args
			if args[0] == "serve" {
				args = append(args, "--grpc-listen=127.0.0.1:0", "--http-listen=127.0.0.1:0")
			}
			out, _, err := printed(t, args...)
			if err != nil {
				out += err.Error()
			}
			assert.Contains(t, out, c.want)
			if c.not != "" {
				assert.NotContains(t, out, c.not)
			}
		})
	}
}

// Programs that a command starts do not take its variables, and no test sets a flag without meaning to.
func TestVariablesAreOfThisCommandOnly(t *testing.T) {
	t.Setenv("BULLET_METRICS_JOURNAL_MAX_BYTES", "1")
	t.Setenv("BULLET_METRICS_LONG", "1")
	_, _, err := printed(t, "version")
	require.NoError(t, err)
	assert.Empty(t, os.Getenv("BULLET_METRICS_JOURNAL_MAX_BYTES"))
	assert.Equal(t, "1", os.Getenv("BULLET_METRICS_LONG"))
	flags := map[string]string{}
	eachFlag(func(_ string, f *pflag.Flag) { flags[variableOf(f.Name)] = f.Name })
	assert.Equal(t, "data-dir", flags["BULLET_METRICS_DATA_DIR"])
	for _, taken := range []string{"BULLET_METRICS_LONG", "BULLET_METRICS_BUILD", "BULLET_METRICS_BENCH_ALERTS",
		"BULLET_METRICS_CHAOS_RESTARTS", "BULLET_METRICS_TEST_JOURNAL", asProgram} {
		assert.NotContains(t, flags, taken)
	}
}

func TestAMisspelledFlagIsNamed(t *testing.T) {
	_, _, err := printed(t, "serve", "--data-dri", "x")
	assert.Equal(t, exitUsage, exitCode(err))
	assert.ErrorContains(t, err, "unknown flag: --data-dri; did you mean --data-dir?")
	_, _, err = printed(t, "serve", "--no-such-flag-as-this")
	assert.ErrorContains(t, err, "unknown flag: --no-such-flag-as-this; see bullet-metrics serve --help")
}

func TestHelpOfNothing(t *testing.T) {
	_, _, err := printed(t, "help", "nothing")
	assert.Equal(t, exitUsage, exitCode(err))
	assert.ErrorContains(t, err, `unknown command "nothing"; see bullet-metrics --help`)
	_, _, err = printed(t, "help", "sevre")
	assert.ErrorContains(t, err, `did you mean "serve"?`)
	_, _, err = printed(t, "help", "tune", "plna")
	assert.ErrorContains(t, err, `unknown command "plna" of bullet-metrics tune; did you mean "plan"?`)
	short, _, err := printed(t, "help", "tune", "plan")
	require.NoError(t, err)
	long, _, err := printed(t, "tune", "plan", "--help")
	require.NoError(t, err)
	assert.Equal(t, long, short)
}

// A result that could not be written is a failure.
func TestOutputThatIsLost(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	stdout := os.Stdout
	os.Stdout = full
	defer func() { os.Stdout = stdout }()
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"help"}, {"version"}, {"--version"}, {"completion", "bash"}} {
		assert.Equal(t, exitFailed, run(t.Context(), args), args)
	}
}

func TestValuesAreCompleted(t *testing.T) {
	for line, want := range map[string]string{
		"version --output ":       "text json :4",
		"tune compare -o ":        "table json markdown html :4",
		"load --class ":           "raw group count_distinct distribution top_k :4",
		"canary --target ":        "gateway drpc :4",
		"why --alert ":            strings.Join(runbook.Names(), " ") + " :4",
		"runbook BulletGC":        "BulletGCShareHigh :4",
		"replay --storm-version ": strings.Join(testedStorms, " ") + " :4",
		"serve --log-level ":      "debug info warn error :4",
		"serve --config ":         "yaml yml :8",
		"why --topology ":         ":4",
		"fsck --data-dir ":        ":16",
		"fsck ":                   ":16",
		"tune run ":               "yaml yml :8",
		"replay ":                 "jsonl :8",
		"why --token-file ":       ":0",
		"help tune pla":           "plan :4",
	} {
		words := strings.Split(line, " ")
		out, _, err := printed(t, append([]string{cobra.ShellCompNoDescRequestCmd}, words...)...)
		require.NoError(t, err, line)
		assert.Equal(t, want, strings.Join(strings.Fields(out), " "), line)
	}
}
