package texts

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTextsOfSources(t *testing.T) {
	for name, c := range map[string]struct {
		file, source string
		want         []Text
	}{
		"a literal, joined ones, a tag and an import": {"x.go", `package x

import "a b c/three words here"

type y struct {
	Z int ` + "`json:\"three words here\"`" + `
}

func f() error {
	log.Warn("journal segment removed", "file", 1)
	return fmt.Errorf("topology %q has %d samples; "+
		"raise limits.series", 1, 2)
}
`, []Text{{10, "journal segment removed"}, {11, "topology N has N samples; raise limits.series"}}},
		"a help text with an example": {"x.go", "package x\n\nvar long = `Run the experiment now.\n\n  bullet-metrics tune run x.yaml\n\nThen read its report.`\n",
			[]Text{{3, "Run the experiment now.\n\n\n\nThen read its report."}}},
		"percent signs": {"x.go", "package x\n\nvar a, b = \"%d%% or %5.1f%%, not a share\", \"failed<1% or none of these\"\n",
			[]Text{{3, "N% or N%, not a share"}, {3, "failed<1% or none of these"}}},
		"PromQL and names": {"x.go", "package x\n\nvar q = `sum by (a) (rate(b[1m])) > 0`\nvar n = \"two words\"\n", nil},
		"Java": {"X.java", "class X { // a comment of words\n  /* \"no text at all\" */\n  void f() { LOG.warn(\"No collector at {}, \"\n    + \"trying again in {} ms\", a, b); }\n}\n",
			[]Text{{3, "No collector at N, trying again in N ms"}}},
		"JavaScript": {"x.js", "const a = `No data for ${name} since ${at}`; // \"not a text here\"\n", []Text{{1, "No data for N since N"}}},
		"HTML":       {"x.html", "<p>\n  The page has <b>no data</b> yet, so wait.</p><script>a b c d</script>", []Text{{2, "The page has"}, {2, "yet, so wait."}}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Of(c.file, []byte(c.source))
			require.NoError(t, err)
			if c.want == nil {
				assert.Empty(t, found)
				return
			}
			assert.Equal(t, c.want, found)
		})
	}
}

var update = flag.Bool("update", false, "write testdata/messages.txt")

// commands are those whose messages a person meets most, and the sources of these messages, from collector-go on.
var commands = []struct{ command, sources string }{
	{"serve --check", "cmd/bullet-metrics/serve_check*.go internal/lib/checklist/*.go internal/config/*.go"},
	{"doctor", "cmd/bullet-metrics/doctor.go internal/storm/doctor/*.go internal/storm/doctor/*/*.go"},
	{"tune plan", "cmd/bullet-metrics/tune_plan.go internal/lab/runner/preview.go internal/lab/experimentfile/*.go"},
	{"load", "cmd/bullet-metrics/load*.go internal/lab/load/*.go internal/lab/load/*/*.go"},
	{"fsck", "cmd/bullet-metrics/fsck.go internal/collector/datadir/*.go internal/collector/journal/check.go"},
	{"storm snippet", "cmd/bullet-metrics/snippet.go internal/storm/stormconfig/*.go"},
}

// TestMessagesOfCommands keeps all messages of these commands in one file, so that a change of one is read beside the
// others.
func TestMessagesOfCommands(t *testing.T) {
	var list strings.Builder
	for _, c := range commands {
		list.WriteString("# " + c.command + "\n")
		var seen []string
		for _, pattern := range strings.Fields(c.sources) {
			files, err := filepath.Glob("../../" + pattern)
			require.NoError(t, err)
			require.NotEmpty(t, files, pattern)
			for _, file := range files {
				if strings.HasSuffix(file, "_test.go") {
					continue
				}
				source, err := os.ReadFile(file)
				require.NoError(t, err)
				found, err := Of(file, source)
				require.NoError(t, err)
				for _, text := range found {
					seen = append(seen, strings.Join(strings.Fields(text.Text), " "))
				}
			}
		}
		slices.Sort(seen)
		for _, text := range slices.Compact(seen) {
			list.WriteString(text + "\n")
		}
		list.WriteString("\n")
	}
	golden := "testdata/messages.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(list.String()), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), list.String(), "read the changed messages beside the others, then run with -update")
}
