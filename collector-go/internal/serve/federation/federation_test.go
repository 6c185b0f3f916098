package federation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

const minuteMs = 60_000

func ago(minutes int64) int64 { return now.UnixMilli() - minutes*minuteMs }

// changes provides annotations as a registry does at a journal position.
type changes struct {
	all  []registry.Annotation
	upTo uint64
}

func (c *changes) AnnotationsSince(after uint64) ([]registry.Annotation, uint64) {
	if after >= c.upTo {
		return nil, c.upTo
	}
	return c.all, c.upTo
}

// kept is an engine that stores what it receives, like a remote write receiver, and evaluates nothing.
type kept struct {
	durable uint64
	series  map[string]*Line
	calls   int
	failing error
}

func (k *kept) Durable() uint64 { return k.durable }

func (k *kept) Append(_ context.Context, upTo uint64, c *slice.Columns) (map[string]int, error) {
	k.calls++
	if k.failing != nil {
		return nil, k.failing
	}
	byRef := map[slice.Ref]*Line{}
	for _, d := range c.Definitions {
		key := d.Series.Labels.String()
		if k.series[key] == nil {
			k.series[key] = &Line{Labels: d.Series.Labels.Map()}
		}
		byRef[d.Ref] = k.series[key]
	}
	for i, ref := range c.Refs {
		l := byRef[ref]
		l.TimesMs, l.Values = append(l.TimesMs, c.EndsMs[i]), append(l.Values, c.Values[i])
	}
	k.durable = upTo
	return map[string]int{"too_old": 0}, nil
}

func (k *kept) LinesAt(_ context.Context, expression string, _ time.Time) (all []Line, _ error) {
	if k.failing != nil {
		return nil, k.failing
	}
	if strings.Contains(expression, Start) {
		for _, l := range k.series {
			all = append(all, *l)
		}
	}
	return all, nil
}

func newKept() *kept { return &kept{series: map[string]*Line{}} }

func writing(c Changes, k *kept) (*Writer, *prometheus.CounterVec) {
	fates := NewFates(prometheus.NewRegistry())
	return NewWriter(c, k, WriterOptions{Name: "s", Now: func() time.Time { return now },
		Logger: slog.New(slog.DiscardHandler), Fates: fates}), fates
}

// fresh returns an empty registry.
func fresh(t *testing.T) *registry.Registry {
	j, err := journal.Open(t.TempDir(), journal.DefaultOptions())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	o := registry.DefaultOptions(t.TempDir())
	o.Now = func() time.Time { return now }
	r, err := registry.New(j, noRetention{}, o)
	require.NoError(t, err)
	return r
}

type noRetention struct{}

func (noRetention) Join(string, func(journal.Position)) {}
func (noRetention) Need(string, journal.Position) error { return nil }
func reading(t *testing.T, k Engine) *Reader {
	return New(fresh(t), k, func() time.Time { return now })
}
func lastDay() registry.Filter { return registry.Filter{FromMs: ago(24 * 60), ToMs: now.UnixMilli()} }
func titles(all []registry.Annotation) (titles []string) {
	for _, a := range all {
		titles = append(titles, a.Title)
	}
	return titles
}

// One collector reads what another one wrote, except for ids and all tags but the first. The annotations are moments,
// ended and open steps, one that ends in the future, and a repeated text.
func TestWhatIsWrittenIsRead(t *testing.T) {
	c := &changes{upTo: 7, all: []registry.Annotation{
		{ID: "secret-1", Topology: "b", TimeMs: ago(300) + 7, EndMs: ago(290), Title: "Step 1", Text: "100 queries",
			Tags: []string{"step", "run-4711"}},
		{ID: "secret-2", Topology: "b", TimeMs: ago(200), EndMs: ago(190), Title: "Step 1", Text: "100 queries",
			Tags: []string{"step"}},
		{ID: "auto-3", Topology: "b", TimeMs: ago(100), Title: "Changed", Tags: []string{"config", "settings"}},
		{ID: "secret-4", Topology: "b", TimeMs: ago(5), Title: "Step 2", Tags: []string{"step"}},
		{ID: "secret-5", Topology: "b", TimeMs: ago(2), EndMs: ago(-60), Title: "Maintenance"},
		{ID: "secret-6", Topology: "b", TimeMs: ago(3 * 24 * 60), Title: "Long ago"},
	}}
	k := newKept()
	w, fates := writing(c, k)
	require.NoError(t, w.share(t.Context()))
	require.NoError(t, w.share(t.Context()))
	assert.Equal(t, 1, k.calls, "once")
	assert.Equal(t, uint64(7), k.durable)
	assert.InDelta(t, 5, testutil.ToFloat64(fates.WithLabelValues("s", "written")), 0)
	assert.InDelta(t, 1, testutil.ToFloat64(fates.WithLabelValues("s", "old")), 0)
	for key, l := range k.series {
		assert.NotContains(t, key, "secret")
		assert.NotContains(t, key, "4711")
		for _, ms := range l.TimesMs {
			assert.LessOrEqual(t, ms, now.UnixMilli(), "no sample is ahead of the clock: %s", key)
			assert.GreaterOrEqual(t, ms, now.Add(-oldest).UnixMilli(), key)
		}
	}

	found, err := reading(t, k).Annotations(t.Context(), lastDay())
	require.NoError(t, err)
	want := []registry.Annotation{c.all[0], c.all[1], c.all[2], c.all[3], c.all[4]}
	require.Len(t, found, len(want))
	for i := range want {
		assert.True(t, strings.HasPrefix(found[i].ID, registry.SharedPrefix))
		want[i].ID, want[i].Origin = found[i].ID, registry.OfEngine
		want[i].Tags = want[i].Tags[:min(1, len(want[i].Tags))]
	}
	assert.Equal(t, want, found)
	narrow := registry.Filter{Topology: "b", FromMs: ago(210), ToMs: ago(150)}
	found, err = reading(t, k).Annotations(t.Context(), narrow)
	require.NoError(t, err)
	assert.Equal(t, []string{"Step 1"}, titles(found))
}

// If a step is closed with another text, others see one annotation.
func TestAChangeIsOneAnnotation(t *testing.T) {
	c := &changes{upTo: 1, all: []registry.Annotation{{ID: "a", Topology: "b", TimeMs: ago(9), Title: "Step",
		Text: "under way", Tags: []string{"step"}}}}
	k := newKept()
	w, _ := writing(c, k)
	require.NoError(t, w.share(t.Context()))
	c.upTo, c.all[0].EndMs, c.all[0].Text = 2, ago(1), "100 queries held"
	require.NoError(t, w.share(t.Context()))
	found, err := reading(t, k).Annotations(t.Context(), lastDay())
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, ago(1), found[0].EndMs)
	assert.Equal(t, "100 queries held", found[0].Text)
}

// Texts are cut at a rune boundary. A topology may share a limited number of different annotations per hour, and the
// rest is counted. Other topologies and repeated texts are not affected.
func TestWhatIsSharedIsBounded(t *testing.T) {
	c := &changes{upTo: 1}
	for i := range MaxSeries + 20 {
		c.all = append(c.all, registry.Annotation{ID: "i", Topology: "b", TimeMs: ago(3),
			Title: fmt.Sprintf("%03d %s", i, strings.Repeat("ü", 200)), Text: strings.Repeat("日本", 1000)})
	}
	c.all = append(c.all, registry.Annotation{Topology: "other", TimeMs: ago(2), Title: "x"},
		registry.Annotation{Topology: "b", TimeMs: ago(1), Title: c.all[0].Title, Text: c.all[0].Text})
	k := newKept()
	w, fates := writing(c, k)
	require.NoError(t, w.share(t.Context()))
	assert.InDelta(t, MaxSeries+2, testutil.ToFloat64(fates.WithLabelValues("s", "written")), 0)
	assert.InDelta(t, 20, testutil.ToFloat64(fates.WithLabelValues("s", "beyond")), 0)
	assert.Len(t, k.series, MaxSeries+1)
	for _, l := range k.series {
		for _, text := range l.Labels {
			assert.LessOrEqual(t, len(text), MaxTextBytes)
			assert.True(t, strings.ToValidUTF8(text, "") == text)
		}
		if text := l.Labels["text"]; text != "" {
			assert.Equal(t, strings.Repeat("日", 65)+cut, strings.ReplaceAll(text, "本", "日"), "whole runes")
		}
	}
	w.options.Now = func() time.Time { return now.Add(time.Hour) }
	c.upTo, c.all = 2, []registry.Annotation{{Topology: "b", TimeMs: ago(-59), Title: "in the next hour"}}
	require.NoError(t, w.share(t.Context()))
	assert.InDelta(t, MaxSeries+3, testutil.ToFloat64(fates.WithLabelValues("s", "written")), 0)
}

// If a receiver refuses data, it gets the same data again, followed by later changes.
func TestAReceiverThatFailsLosesNothing(t *testing.T) {
	c := &changes{upTo: 1, all: []registry.Annotation{{Topology: "b", TimeMs: ago(3), Title: "first"}}}
	k := newKept()
	w, fates := writing(c, k)
	k.failing = errors.New("away")
	require.ErrorContains(t, w.share(t.Context()), "away")
	pending := w.pending
	require.Error(t, w.share(t.Context()))
	assert.Same(t, pending, w.pending)
	k.failing = nil
	require.NoError(t, w.share(t.Context()))
	assert.Equal(t, uint64(1), k.durable)
	assert.InDelta(t, 1, testutil.ToFloat64(fates.WithLabelValues("s", "written")), 0)
	c.upTo, c.all = 2, []registry.Annotation{{Topology: "b", TimeMs: ago(2), Title: "second"}}
	require.NoError(t, w.share(t.Context()))
	assert.Len(t, k.series, 2)
}

// After a restart the registry begins at an older position. What was already sent is not sent again; later changes are
// sent.
func TestARestartSendsWhatIsNew(t *testing.T) {
	c := &changes{upTo: 5, all: []registry.Annotation{{Topology: "b", TimeMs: ago(3), Title: "sent before"}}}
	k := newKept()
	k.durable = 9
	w, _ := writing(c, k)
	require.NoError(t, w.share(t.Context()))
	c.upTo = 9
	require.NoError(t, w.share(t.Context()))
	assert.Zero(t, k.calls)
	c.upTo, c.all = 10, []registry.Annotation{{Topology: "b", TimeMs: ago(1), Title: "new"}}
	require.NoError(t, w.share(t.Context()))
	assert.Len(t, k.series, 1)
	assert.Equal(t, uint64(10), k.durable)
}

// If the engine cannot be reached, the collector's own data are returned with an error.
func TestAnEngineThatIsAway(t *testing.T) {
	k := newKept()
	k.failing = errors.New("nobody listens")
	r := reading(t, k)
	_, err := r.Annotations(t.Context(), lastDay())
	require.ErrorContains(t, err, "data of other collectors is missing: nobody listens")
	all, err := r.Topologies(t.Context())
	require.Error(t, err)
	assert.Empty(t, all)
	_, found, err := r.Topology(t.Context(), "b", "")
	require.Error(t, err)
	assert.False(t, found)
}

// described is an engine with a fixed answer to each expression.
type described map[string][]Line

func (d described) LinesAt(_ context.Context, expression string, _ time.Time) ([]Line, error) {
	found, known := d[expression]
	if !known {
		return nil, fmt.Errorf("nobody expected %s", expression)
	}
	return found, nil
}

func at(ms int64, labels ...string) Line {
	l := Line{Labels: map[string]string{}, TimesMs: []int64{now.UnixMilli()}, Values: []float64{float64(ms) / 1000}}
	for i := 0; i < len(labels); i += 2 {
		l.Labels[labels[i]] = labels[i+1]
	}
	return l
}

// A topology of another collector is listed with the engine's data: its newest run, versions, workers and tasks. It is
// silent if the engine has received nothing for minutes.
func TestTopologiesOfOthers(t *testing.T) {
	old := []string{"topology", "b", "topology_id", "b-1-1700000000", "storm_version", "2.8.0"}
	current := []string{"topology", "b", "topology_id", "b-2-1700000001", "storm_version", "2.8.1", "bullet_version",
		"1.3.2", "java_version", "17", "plugin_version", "0.2.0"}
	gone := []string{"topology", "gone", "topology_id", "gone-1-1700000000"}
	engine := described{
		fmt.Sprintf(newest, describes): {at(ago(60), old...), at(ago(1), current...), at(ago(30), gone...)},
		fmt.Sprintf(first, describes):  {at(ago(600), old...), at(ago(55), current...), at(ago(90), gone...)},
		workers:                        {{Labels: map[string]string{"topology": "b"}, TimesMs: []int64{0}, Values: []float64{2}}},
		`timestamp(bullet_worker_info{topology="b"})`: {
			at(ago(1), "worker", "h2:6701", "host", "h2", "pid", "12"),
			at(ago(1), "worker", "h1:6700", "host", "h1", "pid", "11")},
		fmt.Sprintf(first, `bullet_worker_info{topology="b"}`): {
			at(ago(55), "worker", "h2:6701", "host", "h2", "pid", "12")},
		fmt.Sprintf(runsWhere, "b"): {at(0, "worker", "h1:6700", "component", "FilterBolt", "task", "4"),
			at(0, "worker", "h1:6700", "component", "FilterBolt", "task", "3"),
			at(0, "worker", "h2:6701", "component", "JoinBolt", "task", "5")},
	}
	r := reading(t, engine)
	all, err := r.Topologies(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	b, silent := all[0], all[1]
	assert.Equal(t, "b-2-1700000001", b.ID)
	assert.True(t, b.Federated && b.Alive)
	assert.Equal(t, registry.Condition{State: registry.Running, Since: registry.TimeText(ago(55)), By: "engine"}, b.Condition)
	assert.Equal(t, registry.Versions{Storm: "2.8.1", Bullet: "1.3.2", Java: "17", Plugin: "0.2.0"}, b.Versions)
	assert.Equal(t, 2, b.Workers)
	assert.Equal(t, registry.Condition{State: registry.Silent, Since: registry.TimeText(ago(30)), By: "engine"},
		silent.Condition)

	complete, found, err := r.Topology(t.Context(), "b", "")
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, []string{"b-2-1700000001", "b-1-1700000000"}, []string{complete.Runs[0].ID, complete.Runs[1].ID})
	require.Len(t, complete.Workers, 2)
	first, second := complete.Workers[0], complete.Workers[1]
	assert.Equal(t, []any{"h1:6700", "h1", uint32(6700), uint64(11), 2},
		[]any{first.Worker, first.Host, first.Port, first.Pid, first.Tasks})
	assert.Equal(t, []registry.ComponentTasks{{Component: "FilterBolt", Tasks: []int32{3, 4}}}, first.Components)
	assert.Equal(t, registry.TimeText(ago(55)), second.FirstSeen)
	assert.Equal(t, 3, complete.Tasks)
	assert.Equal(t, 2, complete.Summary.Components)
	assert.Len(t, complete.Hosts, 2)
	_, found, err = r.Topology(t.Context(), "b", "b-9-1")
	require.NoError(t, err)
	assert.False(t, found)
}

// A topology belongs to this collector while it reports here, and to the other one after it has moved there.
func TestATopologyThatMoved(t *testing.T) {
	own := registry.Summary{Name: "b", LastSeen: registry.TimeText(ago(10)), Alive: false}
	assert.False(t, left(own, topology{lastMs: ago(10) + 45_000}), "its own last slices come late")
	assert.True(t, left(own, topology{lastMs: ago(1)}))
	own.Alive = true
	assert.False(t, left(own, topology{lastMs: ago(1)}))
}
