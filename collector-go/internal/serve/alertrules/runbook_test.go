package alertrules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/dashboard"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/dashboardtest"
)

const runbooks = "../../../../docs/runbooks"

// Every alert has a runbook and every runbook an alert. A runbook has all required sections.
func TestEveryAlertHasARunbook(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(runbooks, "Bullet*.md"))
	require.NoError(t, err)
	assert.Len(t, found, len(alertrules.Alerts()))
	index := read(t, filepath.Join(runbooks, "README.md"))
	for _, a := range alertrules.Alerts() {
		page := read(t, filepath.Join(runbooks, a.Name+".md"))
		assert.Equal(t, "# "+a.Name, strings.SplitN(page, "\n", 2)[0])
		assert.Contains(t, page, "\nSeverity: "+string(a.Severity)+".\n", a.Name)
		for _, part := range []string{"Meaning", "Impact", "Diagnosis", "Mitigation"} {
			assert.Contains(t, page, "\n## "+part+"\n", a.Name)
		}
		assert.Contains(t, index, "["+a.Name+"]("+a.Name+".md)")
	}
}

func read(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

var (
	linked    = regexp.MustCompile(`\]\(([^)]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	quoted    = regexp.MustCompile(`"([^"]+)"`)
	board     = regexp.MustCompile("(?i)dashboard `([a-z-]+)`")
	setting   = regexp.MustCompile("`((?:bullet|topology|supervisor)\\.[a-z0-9.]+)")
	queryText = regexp.MustCompile("(?s)```promql\n *(.*?)\n *```")
)

// anchors returns the anchors of a page: its headings in lower case, with hyphens instead of spaces.
func anchors(page string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(strings.ToLower(m[1]), " ", "-"))
	}
	return all
}

// Links have a target, and quoted dashboards, panels and rows exist. Queries are PromQL over existing metrics, and
// settings exist in Bullet, Storm or the plugin.
func TestRunbooksAreTrue(t *testing.T) {
	titles, uids := names()
	for _, a := range alertrules.Alerts() {
		file := filepath.Join(runbooks, a.Name+".md")
		page := read(t, file)
		for _, m := range linked.FindAllStringSubmatch(page, -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if assert.FileExists(t, filepath.Join(runbooks, path), "a link of %s", file) && anchor != "" {
				assert.Contains(t, anchors(read(t, filepath.Join(runbooks, path))), anchor,
					"a link of %s to %s", file, path)
			}
		}
		for _, m := range board.FindAllStringSubmatch(page, -1) {
			assert.Contains(t, uids, m[1], file)
		}
		diagnosis := section(page, "Diagnosis")
		for _, m := range quoted.FindAllStringSubmatch(queryText.ReplaceAllString(diagnosis, ""), -1) {
			if !slices.Contains(others, m[1]) {
				assert.Contains(t, titles, m[1], "%s names a panel or a row that there is not", file)
			}
		}
		for _, m := range setting.FindAllStringSubmatch(page, -1) {
			assert.True(t, settingExists(t, m[1]), "%s names the setting %s, which nothing has", file, m[1])
		}
		checkQueries(t, file, page)
	}
}

// others are quoted words that are not panels.
var others = []string{"timed out", "exit code 20", "exit code 137", "Worker ... restarted"}

func section(page, title string) string {
	_, rest, _ := strings.Cut(page, "\n## "+title+"\n")
	part, _, _ := strings.Cut(rest, "\n## ")
	return part
}

func names() (titles, uids []string) {
	for _, b := range dashboard.All() {
		uids = append(uids, b.UID())
		for _, row := range b.Rows {
			titles = append(titles, row.Question)
			for _, p := range row.Panels {
				titles = append(titles, p.Title)
			}
		}
	}
	return titles, uids
}

func checkQueries(t *testing.T, file, page string) {
	queries := queryText.FindAllStringSubmatch(page, -1)
	assert.NotEmpty(t, queries, "%s has no query to look with", file)
	known := dashboardtest.Known()
	known["ALERTS"] = dashboardtest.Metric{}
	for _, m := range queries {
		e, err := parser.NewParser(parser.Options{}).ParseExpr(m[1])
		require.NoError(t, err, file)
		parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
			if s, is := node.(*parser.VectorSelector); is {
				assert.Contains(t, known, s.Name, file)
			}
			return nil
		})
	}
}

// settingExists searches testdata/settings.txt. It has the settings of Bullet 1.3 and of Storm 1.0 to 2.8 that
// runbooks mention. The plugin's own settings are in its README.
func settingExists(t *testing.T, name string) bool {
	if own, is := strings.CutPrefix(name, "bullet.topology.metrics.collector."); is {
		return strings.Contains(read(t, "../../../../plugin-java/README.md"), "`"+own+"`")
	}
	return slices.Contains(strings.Fields(read(t, filepath.Join("testdata", "settings.txt"))), name)
}
