package slicer_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/capture"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slicer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// points reads a recording of what Storm passed to a consumer (topology/captures).
func points(t *testing.T, name string) []*capture.Point {
	path := filepath.Join("..", "..", "..", "..", "topology", "captures", name)
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var all []*capture.Point
	reader := capture.NewReader(path, file)
	for {
		p, err := reader.Next()
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, all)
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

// replay is a simplified feed: names go to the catalog and samples to the slicer.
type replay struct {
	t       *testing.T
	names   *catalog.State
	slicer  *slicer.Slicer
	ids     map[metric.Raw]uint32
	unknown map[string]bool
	refused map[string]bool // raw names that had a refused sample
	samples uint64
	series  map[slice.Ref]metric.Series
	values  map[slice.Ref][]float64
}

func newReplay(t *testing.T) *replay {
	o := slicer.DefaultOptions()
	o.Limits = catalog.Limits()
	s, err := slicer.New(o)
	require.NoError(t, err)
	s.Connect(1)
	return &replay{t: t, names: catalog.NewState(catalog.DefaultOptions()), slicer: s, ids: make(map[metric.Raw]uint32),
		unknown: make(map[string]bool), refused: make(map[string]bool),
		series: make(map[slice.Ref]metric.Series), values: make(map[slice.Ref][]float64)}
}

func (r *replay) apply(changes []catalog.Change) {
	for _, c := range changes {
		switch c.Verdict.Outcome {
		case catalog.Stored:
			r.slicer.Define(c.ID, c.Rule)
			if c.Verdict.Unknown {
				r.unknown[c.Rule.Series.Name()] = true
			}
		case catalog.Inactive:
			r.slicer.Detach(c.ID)
		default:
			r.names.CountRetracted(c.ID, r.slicer.Retract(c.ID))
			if rule, known := r.names.Rule(c.ID); known { // the series that makes it redundant was defined after it
				delete(r.unknown, rule.Series.Name())
			}
		}
	}
}

func (r *replay) point(sequence uint64, p *capture.Point) {
	raw := metric.Raw{Worker: metric.Worker{Topology: "t", Host: p.Host, Port: p.Port}, Component: p.Component,
		Task: p.Task,
		Name: p.Name, IntervalMs: p.IntervalMs}
	r.slicer.ObserveBatch(&slicer.BatchInfo{Producer: 1, Sequence: sequence}, func() {
		for _, s := range p.Samples {
			raw.Key, raw.Shape = s.Key, s.Shape
			r.sample(raw, p.TimeMs, s.Value)
		}
	})
	r.collect()
}

func (r *replay) sample(raw metric.Raw, timeMs int64, v float64) {
	r.samples++
	id, known := r.ids[raw]
	if !known {
		id = uint32(len(r.ids) + 1)
		r.ids[raw] = id
		r.apply(r.names.Define(id, &raw))
	}
	before := refusals(r.slicer.Counts())
	if !r.slicer.Add(id, timeMs, v) {
		verdict, changes := r.names.JudgeSamples(id, 1)
		r.apply(changes)
		if verdict.Outcome == catalog.Refused {
			r.refused[raw.Name] = true
		}
	}
	if refusals(r.slicer.Counts()) > before {
		r.refused[raw.Name] = true
	}
}

func refusals(c slicer.Counts) (all uint64) {
	for _, n := range c.Refused {
		all += n
	}
	return all
}

func (r *replay) collect() {
	c := r.slicer.Closed()
	for _, d := range c.Definitions {
		r.series[d.Ref] = d.Series
	}
	for i, ref := range c.Refs {
		if !value.IsStaleNaN(c.Values[i]) {
			r.values[ref] = append(r.values[ref], c.Values[i])
		}
	}
	c.Reset()
}

// TestCaptures runs recordings of Storm and Bullet through catalog and slicer.
func TestCaptures(t *testing.T) {
	tests := []struct {
		file    string
		unknown []string // the word count's own metrics
		refused []string // values that mean "no limit"
	}{
		{file: "capture-storm-2.8.4.jsonl",
			refused: []string{"CGroupCpuGuaranteeByCfsQuota", "CGroupMemoryLimit", "memory.non-heap.max",
				"memory.pools.G1-Eden-Space.max",
				"memory.pools.G1-Survivor-Space.max", "memory.pools.Metaspace.max"}},
		{file: "capture-cluster-2.8.4.jsonl", unknown: []string{"storm_my_mean", "storm_my_multi",
			"storm_my_spout_count"},
			refused: []string{"CGroupCpuGuaranteeByCfsQuota", "memory.non-heap.max", "memory.pools.G1-Eden-Space.max",
				"memory.pools.G1-Survivor-Space.max", "memory.pools.Metaspace.max"}},
		{file: "capture-replay-2.8.3.jsonl", // a worker is killed during it
			refused: []string{"CGroupCpuGuaranteeByCfsQuota", "memory.non-heap.max", "memory.pools.G1-Eden-Space.max",
				"memory.pools.G1-Survivor-Space.max", "memory.pools.Metaspace.max"}},
		{file: "capture-killed-2.8.3.jsonl", // a worker is killed during it
			refused: []string{"CGroupCpuGuaranteeByCfsQuota", "memory.non-heap.max", "memory.pools.G1-Eden-Space.max",
				"memory.pools.G1-Survivor-Space.max", "memory.pools.Metaspace.max"}},
		{file: "capture-storm-2.2.0.jsonl",
			refused: []string{"memory.non-heap.max", "memory.non-heap.usage", "memory.pools.G1-Eden-Space.max",
				"memory.pools.G1-Survivor-Space.max", "memory.pools.Metaspace.max"}},
		{file: "capture-storm-1.2.4.jsonl", unknown: []string{"storm_my_mean", "storm_my_multi",
			"storm_my_spout_count"},
			refused: []string{"memory/nonHeap"}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			r := newReplay(t)
			for i, p := range points(t, test.file) {
				r.point(uint64(i+1), p)
			}
			r.slicer.CloseAll()
			r.collect()
			assert.ElementsMatch(t, test.unknown, keys(r.unknown), "names that the table does not have")
			assert.ElementsMatch(t, test.refused, keys(r.refused), "names with values that say that there is no limit")
			for reason, n := range r.slicer.Counts().Refused { // a run without any problem
				assert.Equal(t, slicer.Unlimited, reason, n)
			}
			r.checkAccounting()
			r.checkValues()
		})
	}
}

func keys(set map[string]bool) []string {
	all := []string{}
	for key := range set {
		all = append(all, key)
	}
	return all
}

// checkAccounting checks that every sample is counted somewhere.
func (r *replay) checkAccounting() {
	c, left := r.slicer.Counts(), r.names.Counts()
	sum := c.InSlices + c.Open + c.Late + refusals(c)
	for _, reasons := range []map[string]uint64{left.LeftOut, left.Refused} {
		for _, n := range reasons {
			sum += n
		}
	}
	assert.Equal(r.t, r.samples, sum)
	assert.Zero(r.t, c.Late)
	assert.Zero(r.t, c.Open)
}

// checkValues checks that counters never fall, and that gauges lie between their least and greatest values.
func (r *replay) checkValues() {
	stored := 0
	for ref, values := range r.values {
		series := r.series[ref]
		stored += len(values)
		for i, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				r.t.Errorf("%v has %v", series.Labels, v)
			}
			if series.Kind == metric.KindCounter && i > 0 && v < values[i-1] {
				r.t.Errorf("%v falls from %v to %v", series.Labels, values[i-1], v)
			}
		}
	}
	assert.Greater(r.t, stored, 50, fmt.Sprintf("%d series", len(r.series)))
}
