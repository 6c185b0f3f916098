package slicer_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slicer"
)

// dataPoint is a line of a capture: what Storm handed to a metrics consumer.
type dataPoint struct {
	Time      int64  `json:"ts"` // s
	Interval  int64  `json:"interval"`
	Host      string `json:"host"`
	Port      uint32 `json:"port"`
	Component string `json:"component"`
	Task      int32  `json:"task"`
	Name      string `json:"name"`
	Value     any    `json:"value"`
}

// capture reads a recording of what Storm handed to a consumer (topology/captures).
func capture(t *testing.T, name string) []dataPoint {
	path := filepath.Join("..", "..", "..", "topology", "captures", name)
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var points []dataPoint
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p dataPoint
		require.NoError(t, json.Unmarshal(lines.Bytes(), &p))
		if p.Name != "" {
			points = append(points, p)
		}
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, points)
	return points
}

// replay is a feed in small: names to the catalogue, samples to the slicer.
type replay struct {
	t       *testing.T
	names   *catalog.State
	slicer  *slicer.Slicer
	ids     map[metric.Raw]uint32
	unknown map[string]bool
	refused map[string]bool // raw names of which a sample was refused
	samples uint64
	series  map[slice.Ref]metric.Series
	values  map[slice.Ref][]float64
}

func newReplay(t *testing.T) *replay {
	s, err := slicer.New(slicer.DefaultOptions())
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
		case catalog.Dormant:
			r.slicer.Detach(c.ID)
		default:
			r.names.CountWithdrawn(c.ID, r.slicer.Withdraw(c.ID))
		}
	}
}

func (r *replay) point(sequence uint64, p *dataPoint) {
	r.slicer.Begin(1, sequence)
	raw := metric.Raw{Worker: metric.Worker{Topology: "t", Host: p.Host, Port: p.Port}, Component: p.Component, Task: p.Task,
		Name: p.Name, Shape: metric.ShapeNumber, IntervalMs: p.Interval * 1000}
	r.flatten(raw, p.Time*1000, p.Value)
	r.slicer.End()
	r.collect()
}

// flatten does what the plugin does with a data point's value.
func (r *replay) flatten(raw metric.Raw, timeMs int64, v any) {
	switch v := v.(type) {
	case float64:
		r.sample(raw, timeMs, v)
	case map[string]any:
		raw.Shape = metric.ShapeMap
		for _, key := range slices.Sorted(func(yield func(string) bool) {
			for key := range v {
				if !yield(key) {
					return
				}
			}
		}) {
			inner := raw
			inner.Key = strings.TrimPrefix(raw.Key+metric.KeySeparator+key, metric.KeySeparator)
			r.flatten(inner, timeMs, v[key])
		}
	default:
		r.t.Fatalf("%s is %T", raw.Name, v)
	}
}

func (r *replay) sample(raw metric.Raw, timeMs int64, v float64) {
	r.samples++
	id, known := r.ids[raw]
	if !known {
		id = uint32(len(r.ids) + 1)
		r.ids[raw] = id
		r.apply(r.names.Define(id, raw))
	}
	before := refusals(r.slicer.Counts())
	if !r.slicer.Add(id, timeMs, v) {
		verdict, changes := r.names.Judge(id)
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

// TestCaptures runs what Storm and Bullet really sent through catalogue and slicer.
func TestCaptures(t *testing.T) {
	tests := []struct {
		file    string
		unknown []string // the word count's own metrics
		refused []string // values that make no sense
	}{
		{file: "capture-storm-2.8.4.jsonl",
			refused: []string{"CGroupCpuGuaranteeByCfsQuota", "CGroupMemoryLimit", "memory.non-heap.max", "memory.pools.G1-Eden-Space.max",
				"memory.pools.G1-Survivor-Space.max", "memory.pools.Metaspace.max", "memory.total.max"}},
		{file: "capture-cluster-2.8.4.jsonl", unknown: []string{"storm_my_mean", "storm_my_multi", "storm_my_spout_count"},
			refused: []string{"CGroupCpuGuaranteeByCfsQuota", "memory.non-heap.max", "memory.pools.G1-Eden-Space.max",
				"memory.pools.G1-Survivor-Space.max", "memory.pools.Metaspace.max", "memory.total.max"}},
		{file: "capture-storm-2.2.0.jsonl",
			refused: []string{"memory.non-heap.max", "memory.non-heap.usage", "memory.pools.G1-Eden-Space.max",
				"memory.pools.G1-Survivor-Space.max", "memory.pools.Metaspace.max"}},
		{file: "capture-storm-1.2.4.jsonl", unknown: []string{"storm_my_mean", "storm_my_multi", "storm_my_spout_count"},
			refused: []string{"memory/nonHeap"}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			r := newReplay(t)
			points := capture(t, test.file)
			for i := range points {
				r.point(uint64(i+1), &points[i])
			}
			r.slicer.CloseAll()
			r.collect()
			assert.ElementsMatch(t, test.unknown, keys(r.unknown), "names that the table does not have")
			assert.ElementsMatch(t, test.refused, keys(r.refused), "names with values that make no sense")
			r.checkBooks()
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

// checkBooks: every sample is somewhere.
func (r *replay) checkBooks() {
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

// checkValues: counters never fall, gauges stay between their least and greatest.
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
