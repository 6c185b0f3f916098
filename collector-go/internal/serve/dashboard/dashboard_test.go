package dashboard_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/dashboard"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/dashboardtest"
)

var update = flag.Bool("update", false, "rewrite dashboards/testdata/refused.txt")

// home is the directory of the committed files.
const home = "../../../../dashboards"

// Every committed dashboard follows the rules. A test of cmd/bullet-metrics checks that it is the generated one.
func TestCommittedDashboardsKeepTheRules(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(home, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, len(dashboard.All()))
	for _, file := range files {
		assert.Empty(t, problems(t, file))
	}
}

func problems(t *testing.T, file string) (all []string) {
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, p := range dashboardtest.Lint(file, content, dashboardtest.Known()) {
		all = append(all, p.String())
	}
	return all
}

// Each file under testdata/bad has one fault and is refused for it; refused.txt has the messages. The good file is
// their original.
func TestBadDashboardsAreRefused(t *testing.T) {
	assert.Empty(t, problems(t, filepath.Join(home, "testdata", "good.json")))
	files, err := filepath.Glob(filepath.Join(home, "testdata", "bad", "*.json"))
	require.NoError(t, err)
	require.Greater(t, len(files), 30)
	var got strings.Builder
	for _, file := range files {
		found := problems(t, file)
		require.NotEmpty(t, found, "%s is not refused", file)
		got.WriteString(strings.Join(found, "\n") + "\n")
	}
	golden := filepath.Join(home, "testdata", "refused.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String(), "go test ./internal/serve/dashboard -run Refused -update")
}

// The JSON is readable enough for editing by hand, and a change of a uid is noticed.
func TestUIDsAreTheirOwn(t *testing.T) {
	var uids []string
	for _, b := range dashboard.All() {
		assert.NotContains(t, uids, b.UID())
		assert.LessOrEqual(t, len(b.UID()), 40, "Grafana takes at most 40 characters")
		uids = append(uids, b.UID())
	}
	assert.ElementsMatch(t, []string{"bullet-overview", "bullet-figures", "bullet-latency", "bullet-gc",
		"bullet-tuple-flow", "bullet-queues", "bullet-runs", "bullet-collector"}, uids)
}

// The overview links to every board about a running topology.
func TestTheOverviewLeadsToTheOthers(t *testing.T) {
	var leads []string
	for _, row := range dashboard.All()[0].Rows {
		for _, p := range row.Panels {
			if p.Leads != "" {
				leads = append(leads, "bullet-"+p.Leads)
			}
		}
	}
	assert.ElementsMatch(t, []string{"bullet-figures", "bullet-latency", "bullet-gc", "bullet-tuple-flow",
		"bullet-queues", "bullet-collector"}, leads)
}

// A query may occur in two panels. A third panel with the same query is superfluous.
func TestNoQueryStandsThreeTimes(t *testing.T) {
	stands := map[string][]string{}
	for _, b := range dashboard.All() {
		for _, row := range b.Rows {
			for _, p := range row.Panels {
				for _, q := range p.Queries {
					asked := strings.Join(strings.Fields(q.Expr), " ")
					stands[asked] = append(stands[asked], b.Name+": "+p.Title)
				}
			}
		}
	}
	require.Greater(t, len(stands), 100)
	for asked, where := range stands {
		assert.LessOrEqual(t, len(where), 2, "%s stands in %v: leave one out", asked, where)
	}
}
