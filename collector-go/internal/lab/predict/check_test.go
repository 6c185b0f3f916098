package predict

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const tables = "../csvtable/testdata/document/"

func opened(t *testing.T, paths ...string) []*Source {
	t.Helper()
	all, err := Open(68_400, paths...)
	require.NoError(t, err)
	for _, s := range all {
		if s.LimitMs == 0 {
			s.LimitMs = 200
		}
	}
	return all
}

// The steps of the document's own cluster, each predicted from the others.
func TestPredictionsOfTheDocumentsTables(t *testing.T) {
	c, err := Validate(opened(t, tables+"query-scaling-test7.csv", tables+"data-scaling-test6.csv",
		tables+"concurrency-test3.csv", tables+"concurrency-test4.csv"), 0.95)
	require.NoError(t, err)
	assert.Empty(t, c.Missed())
	assert.Len(t, c.Steps, 22+2*6+5+7)
	require.Len(t, c.Capacities, 3)
	for _, h := range c.Capacities {
		assert.True(t, h.Inside, "%+v", h)
	}
	text := c.Document().Text()
	assert.Contains(t, text,
		"46 figures of the steps of 11 launches, each predicted without its own step and repeats")
	assert.Contains(t, text, "holds 140, fails at 160")
	assert.Contains(t, text, "(goals held)")
	_, err = json.Marshal(c)
	require.NoError(t, err)

	page, err := os.ReadFile("../../../../docs/tune/prediction-accuracy.md")
	require.NoError(t, err)
	for _, section := range c.Document().Sections[:2] {
		table := strings.TrimSpace(section.Blocks[0].Table.Markdown())
		assert.True(t, strings.Contains(string(page), table), "docs/tune/prediction-accuracy.md, %s:\n%s", section.Title, table)
	}
}

// The documentation describes each field of the JSON.
func TestThePageHasEachField(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/tune/prediction-accuracy.md")
	require.NoError(t, err)
	fields := 0
	for _, of := range []reflect.Type{reflect.TypeFor[Answers](), reflect.TypeFor[Answer](),
		reflect.TypeFor[Prediction](), reflect.TypeFor[Reach](), reflect.TypeFor[Forecast](), reflect.TypeFor[Busy](),
		reflect.TypeFor[Request](), reflect.TypeFor[Load](), reflect.TypeFor[Setup](), reflect.TypeFor[Check](),
		reflect.TypeFor[Summary]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name == "" || name == "name" {
				continue
			}
			fields++
			assert.True(t, strings.Contains(string(page), "`"+name+"`") ||
				strings.Contains(string(page), "`"+name+"[]`"), "docs/tune/prediction-accuracy.md has no %s", name)
		}
	}
	assert.Greater(t, fields, 40)
}

// Test 7 gives the same observations as a table and as run directories.
func TestARunsDirectoryIsReadAsItsTable(t *testing.T) {
	table, run := opened(t, tables+"query-scaling-test7.csv")[0], opened(t, "../report/testdata/runs/test7")[0]
	require.Len(t, run.Observations, len(table.Observations))
	for i, o := range table.Observations {
		assert.Equal(t, o.Load, run.Observations[i].Load)
		assert.Equal(t, o.Setup.filterBolts(), run.Observations[i].Setup.filterBolts())
		assert.InDelta(t, o.Measured[Latency], run.Observations[i].Measured[Latency], 1e-9)
	}
	assert.Equal(t, 200.0, run.LimitMs)
	both := opened(t, "../report/testdata/runs")
	assert.Len(t, both, 2, "a directory of runs")
	search := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(search, "trials", "01-one"), os.DirFS("../report/testdata/runs/test7")))
	assert.Len(t, opened(t, search), 1, "a search's directory, whose trials are runs")
}

// CPU, GC, heap and latency of a run's steps are used. A step on a starved host is left out.
func TestWhatARunShows(t *testing.T) {
	s := opened(t, "../runstore/testdata/sample")[0]
	require.Len(t, s.Observations, 8)
	assert.Equal(t, map[string]int{starved: 1}, s.LeftOut)
	o := s.Observations[1]
	assert.Equal(t, Load{20, 1500}, o.Load)
	assert.Equal(t, 384.0, o.Setup.HeapMiB)
	assert.Equal(t, 2.0, o.Setup.Workers)
	assert.Equal(t, 1.0, o.Setup.filterBolts())
	assert.Equal(t, 0.7, o.Measured[CPU])
	assert.Equal(t, 7.0, o.Measured[Latency])
	assert.InDelta(t, 0.01, o.Measured[GC], 1e-9)
	assert.InDelta(t, 343, o.Measured[Heap], 1)
}

// A check reports missed goals for steps that do not follow the model.
func TestACheckCanMiss(t *testing.T) {
	random, s := rand.New(rand.NewPCG(2, 9)), &Source{Name: "made up", LimitMs: 200}
	for i := range 24 {
		v := math.Exp(0.05 * random.NormFloat64())
		if i%5 == 0 {
			v *= 40
		}
		s.Observations = append(s.Observations, Observation{World: "w", Launch: "one", Configuration: "one",
			Load: Load{float64(i), 1000}, Setup: setupOf(2), Measured: map[Figure]float64{CPU: v}})
	}
	c, err := Validate([]*Source{s}, 0.5)
	require.NoError(t, err)
	assert.NotEmpty(t, c.Missed(), "an interval of half the truths holds no 90%%")
	assert.Contains(t, c.Document().Text(), "(goals missed)")
	_, err = Validate([]*Source{{Observations: s.Observations[:2]}}, 0.95)
	assert.ErrorIs(t, err, ErrTooFew)
}

// The median error and the other figures of a summary.
func TestASummary(t *testing.T) {
	var all tally
	for i, off := range []float64{0.1, 0.3, 0.2, math.NaN()} {
		all.add(i != 1, off, tuning.Estimate{Value: 10, Low: 8, High: 14})
	}
	s := all.summary("x")
	assert.Equal(t, 4, s.Held)
	assert.InDelta(t, 0.75, float64(s.Inside), 1e-9)
	assert.InDelta(t, 0.2, float64(s.MedianError), 1e-9)
	assert.InDelta(t, 0.3, float64(s.HalfWidth), 1e-9)
	assert.InDelta(t, 1.5, float64(s.WidthOverError), 1e-9)
}

// Repeats of a step are left out with it, because a repeat would give the answer away.
func TestRepeatsLeaveTogether(t *testing.T) {
	a := Observation{World: "w", Configuration: "c", Load: Load{20, 1451}}
	for _, c := range []struct {
		other   Observation
		repeats bool
	}{
		{a, true}, {Observation{World: "w", Configuration: "c", Load: Load{20, 1380}}, true},
		{Observation{World: "w", Configuration: "c", Load: Load{20, 3000}}, false},
		{Observation{World: "w", Configuration: "c", Load: Load{30, 1451}}, false},
		{Observation{World: "w", Configuration: "d", Load: Load{20, 1451}}, false},
		{Observation{World: "v", Configuration: "c", Load: Load{20, 1451}}, false},
		{Observation{World: "w", Configuration: "c", Load: Load{20, tuning.Unknown}}, false},
	} {
		assert.Equal(t, c.repeats, a.repeats(c.other), "%+v", c.other)
		assert.Equal(t, c.repeats, c.other.repeats(a))
	}
	unknown := Observation{Load: Load{20, tuning.Unknown}}
	assert.True(t, unknown.repeats(unknown))

	// If a repeat were kept, the held-out step could be predicted exactly. The three launches of each load are far from
	// any line.
	random, s := rand.New(rand.NewPCG(4, 4)), &Source{Name: "made up"}
	for _, queries := range []float64{0, 50, 100, 200} {
		own := math.Exp(random.NormFloat64())
		for launch := range 3 {
			s.Observations = append(s.Observations, Observation{World: "w", Launch: fmt.Sprint(launch),
				Configuration: "c", Load: Load{queries, 1000 + 10*tuning.Figure(launch)}, Setup: setupOf(2),
				Measured: map[Figure]float64{CPU: own}})
		}
	}
	c, err := Validate([]*Source{s}, 0.95)
	require.NoError(t, err)
	require.Len(t, c.Steps, 12, "each once")
	assert.Greater(t, float64(c.Summaries[0].MedianError), 0.1)
}

func TestPathsThatHoldNothing(t *testing.T) {
	for want, path := range map[string]string{
		"neither a run directory nor a directory of runs": t.TempDir(),
		"and has no steps": tables + "resources-test1-3.csv",
		"no such file":     filepath.Join(t.TempDir(), "none.csv"),
	} {
		_, err := Open(tuning.Unknown, path)
		assert.ErrorContains(t, err, want)
	}
	other := filepath.Join(t.TempDir(), "other.csv")
	require.NoError(t, os.WriteFile(other, []byte("a,b\n1,2\n"), 0o644))
	_, err := Open(tuning.Unknown, other)
	assert.Error(t, err)
}
