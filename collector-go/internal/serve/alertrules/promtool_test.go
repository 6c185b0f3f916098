//go:build dashboards

package alertrules_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
)

// These tests run promtool of our library's version: `go test -tags dashboards`. It is built from source, which takes
// about four minutes of CPU the first time and a second or two afterwards.

// committed is the directory of the rule file and its unit tests.
const committed = "../../../../dashboards/prometheus"

func buildPromtool(t *testing.T) string {
	return build(t, "prometheus", "github.com/prometheus/prometheus/cmd/promtool")
}

// build builds a program of a module in collector-go/tools.
func build(t *testing.T, module, program string) string {
	into, err := filepath.Abs("../../../../build/tools")
	require.NoError(t, err)
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "remove_all_sd", "-o",
		into+string(filepath.Separator), program)
	build.Dir = filepath.Join("../../../tools", module)
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return filepath.Join(into, path.Base(program))
}

func TestRulesPassPromtool(t *testing.T) {
	promtool := buildPromtool(t)
	t.Run("lint", func(t *testing.T) {
		out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", "--lint", "all", "--lint-fatal",
			filepath.Join(committed, "bullet-metrics.rules.yaml")).CombinedOutput()
		assert.NoError(t, err, string(out))
	})
	for _, a := range alertrules.Alerts() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), promtool, "test", "rules",
				withRulesItNeeds(t, testFile(a))).CombinedOutput()
			assert.NoError(t, err, string(out))
		})
	}
}

// The rules for an older Prometheus load into the oldest supported version, which is Debian's. They are the same
// except for the offset. The rules for a newer Prometheus do not load there, so that two files are necessary.
func TestRulesLoadIntoTheOldestPrometheusThatIsNamed(t *testing.T) {
	unpack := exec.CommandContext(t.Context(), "../../../../.ci/server", "prometheus")
	dir, err := unpack.Output()
	require.NoError(t, err)
	promtool := filepath.Join(strings.TrimSpace(string(dir)), "usr", "bin", "promtool")
	version, err := exec.CommandContext(t.Context(), promtool, "--version").CombinedOutput()
	require.NoError(t, err, string(version))
	require.Contains(t, string(version), "version "+alertrules.OldestKnown)
	onlyWithoutOffset(t, func(file string) *exec.Cmd {
		return exec.CommandContext(t.Context(), promtool, "check", "rules", file)
	})
}

// vmalert loads the same rules. The test builds the version that the files name. Older versions could not be tested.
func TestRulesWithoutAnOffsetLoadIntoVmalert(t *testing.T) {
	vmalert := build(t, "peers/victoria", "github.com/VictoriaMetrics/VictoriaMetrics/app/vmalert")
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "github.com/VictoriaMetrics/VictoriaMetrics")
	list.Dir = "../../../tools/peers/victoria"
	version, err := list.Output()
	require.NoError(t, err)
	require.Contains(t, string(version), " v"+alertrules.Vmalert+".")
	onlyWithoutOffset(t, func(file string) *exec.Cmd {
		return exec.CommandContext(t.Context(), vmalert, "-dryRun", "-rule="+file)
	})
}

// onlyWithoutOffset runs a check of two rule files. The one without query_offset must pass, and the one with it must
// be refused for that reason.
func onlyWithoutOffset(t *testing.T, check func(file string) *exec.Cmd) {
	t.Helper()
	run := func(offset time.Duration) (string, error) {
		file := filepath.Join(t.TempDir(), "rules.yaml")
		require.NoError(t, os.WriteFile(file, alertrules.PrometheusRules(alertrules.Interval, offset,
			alertrules.Runbooks), 0o600))
		out, err := check(file).CombinedOutput()
		return string(out), err
	}
	out, err := run(0)
	require.NoError(t, err, out)
	out, err = run(alertrules.QueryOffset)
	require.Error(t, err)
	assert.Contains(t, out, "query_offset")
}

// withRulesItNeeds returns a copy of a file of unit tests that evaluates only the rules that it names and those that
// these depend on. promtool evaluates all of a rule file every 15 s of each test.
func withRulesItNeeds(t *testing.T, tests string) string {
	text, err := os.ReadFile(tests)
	require.NoError(t, err)
	var rules struct {
		Groups []map[string]any
	}
	all, err := os.ReadFile(filepath.Join(committed, "bullet-metrics.rules.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(all, &rules))

	named, kept := string(text), 0
	for _, group := range slices.Backward(rules.Groups) { // a rule comes after those that it depends on
		var needed []any
		for _, r := range slices.Backward(group["rules"].([]any)) {
			rule := r.(map[string]any)
			name, isAlert := rule["alert"].(string)
			if !isAlert {
				name = rule["record"].(string)
			}
			if strings.Contains(named, name) {
				needed = append(needed, rule)
				named += rule["expr"].(string)
			}
		}
		slices.Reverse(needed)
		group["rules"] = needed
		kept += len(needed)
	}
	require.Positive(t, kept, tests)
	dir := t.TempDir()
	reduced, err := yaml.Marshal(map[string]any{"groups": rules.Groups})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), reduced, 0o600))
	const whole = "[../bullet-metrics.rules.yaml]"
	require.Contains(t, string(text), whole)
	copied := filepath.Join(dir, filepath.Base(tests))
	require.NoError(t, os.WriteFile(copied, []byte(strings.Replace(string(text), whole, "[rules.yaml]", 1)), 0o600))
	return copied
}

func testFile(a alertrules.Alert) string {
	return filepath.Join(committed, "tests", a.Name+".test.yaml")
}

// cases are the cases with which every rule is tested. The watchdog always fires.
var cases = map[string]*regexp.Regexp{
	"firing":               regexp.MustCompile(`^fires`),
	"not firing":           regexp.MustCompile(`^does not fire`),
	"missing data":         regexp.MustCompile(`samples stop|are silent`),
	"no series":            regexp.MustCompile(`without any series|never seen`),
	"NaN":                  regexp.MustCompile(`NaN`),
	"a worker that leaves": regexp.MustCompile(`worker leaves|workers that leave|another worker|other workers`),
}

func TestEveryRuleIsTriedWithEveryCase(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(committed, "tests", "*.test.yaml"))
	require.NoError(t, err)
	assert.Len(t, found, len(alertrules.Alerts()))
	for _, a := range alertrules.Alerts() {
		var file struct {
			Tests []struct{ Name string }
		}
		text, err := os.ReadFile(testFile(a))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, &file))
		var names []string
		for _, test := range file.Tests {
			names = append(names, test.Name)
		}
		all := strings.Join(names, "\n")
		for name, pattern := range cases {
			if a.Severity == alertrules.None && (name == "not firing" || name == "missing data") {
				continue
			}
			assert.Regexp(t, "(?m)"+pattern.String(), all, "%s is not tried with %s", a.Name, name)
		}
	}
}
