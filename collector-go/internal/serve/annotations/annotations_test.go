package annotations

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// history is a run of two steps, a change between them, a maintenance window, and a step that is still open at 1000 s.
// Times are seconds.
var history = []registry.Annotation{
	{ID: "s1", Topology: "b", TimeMs: 100_000, EndMs: 220_500, Title: "Step 1", Text: "100 queries",
		Tags: []string{"step", "run-1"}},
	{ID: "auto-1", Topology: "b", TimeMs: 300_125, Title: "Changed topology.workers", Text: "- 1\n+ 2",
		Tags: []string{"config", "settings"}},
	{ID: "m", Topology: "b", TimeMs: 400_000, EndMs: 460_000, Title: "Maintenance"},
	{ID: "s2", Topology: "b", TimeMs: 700_000, Title: "Step 2", Tags: []string{"step"}},
	{ID: "o", Topology: "other", TimeMs: 300_000, Title: "Changed", Text: strings.Repeat("ü", 600),
		Tags: []string{"config"}},
}

type fixed []registry.Annotation

func (f fixed) Annotations(_ context.Context, filter registry.Filter) (all []registry.Annotation, err error) {
	for _, a := range f {
		if filter.Selects(&a) {
			all = append(all, a)
		}
	}
	return all, nil
}

func engine(t *testing.T) *query.Engine {
	e, err := query.New(New(fixed(history), func() time.Time { return time.UnixMilli(1_000_000) }),
		query.DefaultOptions())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// over evaluates a range query, and returns for each id the seconds with their values.
func over(t *testing.T, expr string, start, end, step int64) map[string]string {
	q, err := engine(t).Range(t.Context(), nil, expr, time.Unix(start, 0), time.Unix(end, 0),
		time.Duration(step)*time.Second)
	require.NoError(t, err)
	defer q.Close()
	matrix, err := q.Exec(t.Context()).Matrix()
	require.NoError(t, err)
	found := map[string]string{}
	for _, s := range matrix {
		var at []string
		for _, p := range s.Floats {
			at = append(at, fmt.Sprintf("%d=%v", p.T/1000, p.F))
		}
		found[s.Metric.Get("id")] = strings.Join(at, " ")
	}
	return found
}

// A step is 1 from its start to its end and not longer, whatever the query's step is. An open step lasts until now.
func TestStepsAreActive(t *testing.T) {
	const steps = `bullet_annotation_active{topology="b",kind="step"}`
	assert.Equal(t, map[string]string{"s1": "120=1 160=1 200=1",
		"s2": "720=1 760=1 800=1 840=1 880=1 920=1 960=1 1000=1"}, over(t, steps, 0, 1000, 40))
	assert.Equal(t, map[string]string{"s1": "100=1 200=1"}, over(t, steps, 100, 600, 100))
	assert.Equal(t, map[string]string{"s1": "200=1 210=1 220=1"}, over(t, steps, 200, 290, 10), "asked in its midst")
	assert.Equal(t, map[string]string{"m": "400=1 420=1 440=1 460=1"}, over(t, `bullet_annotation_active{kind="other"}`,
		380, 500, 20))
	assert.Empty(t, over(t, `bullet_annotation_active{kind="config"}`, 0, 1000, 10), "a moment does not last")
	assert.Empty(t, over(t, steps, 230, 690, 10))
}

// No step of a range query misses a change. Its value is the time of the change in ms. Grafana needs each value only
// once.
func TestChangesAreMoments(t *testing.T) {
	const changes = `bullet_annotation_start_seconds{topology="b",kind!="step"} * 1000`
	for _, step := range []int64{1, 10, 60, 500} {
		found := over(t, changes, 0, 1000, step)
		require.Len(t, found, 2, "step %d", step)
		for _, point := range strings.Fields(found["auto-1"]) {
			assert.Equal(t, "300125", point[strings.Index(point, "=")+1:])
		}
	}
	assert.Equal(t, map[string]string{"auto-1": "360=300125", "m": "420=400000"}, over(t, changes, 0, 1000, 60))
	assert.Equal(t, map[string]string{"auto-1": "1000=300.125", "m": "1000=400"},
		over(t, `last_over_time(bullet_annotation_start_seconds{topology="b",kind!="step"}[1d])`, 1000, 1000, 10))
}

func TestLabels(t *testing.T) {
	q, err := engine(t).Instant(t.Context(), nil, `bullet_annotation_start_seconds`,
		time.Unix(300, 0).Add(5*time.Second))
	require.NoError(t, err)
	defer q.Close()
	vector, err := q.Exec(t.Context()).Vector()
	require.NoError(t, err)
	require.Len(t, vector, 2)
	byID := map[string]promql.Sample{}
	for _, s := range vector {
		byID[s.Metric.Get("id")] = s
	}
	assert.Equal(t, map[string]string{"__name__": Start, "id": "auto-1", "kind": "config", "tags": "config,settings",
		"text": "- 1\n+ 2", "title": "Changed topology.workers", "topology": "b"}, byID["auto-1"].Metric.Map())
	assert.Equal(t, strings.Repeat("ü", 512)+"...", byID["o"].Metric.Get("text"), "a label holds 1 KiB, whole letters")
}

// A query for other series finds nothing. Names and values of labels can be listed like those of stored series.
func TestOtherSeriesAreNotTouched(t *testing.T) {
	assert.Empty(t, over(t, `bullet_worker_info or {__name__=~"bullet_worker.*"}`, 0, 1000, 100))
	q, err := engine(t).Querier(0, 1_000_000)
	require.NoError(t, err)
	defer q.Close()
	values, _, err := q.LabelValues(t.Context(), "topology", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "other"}, values)
	names, _, err := q.LabelNames(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"__name__", "id", "kind", "tags", "text", "title", "topology"}, names)
}
