package slicer

import (
	"fmt"
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// kept reads what is stored of the collection as a reader of the store has to.
type kept struct {
	names  map[slice.Ref]string
	totals map[string]*held
	values map[string]int // by the name of the series
}

// held is the newest total of a metric and how it goes on.
type held struct {
	atMs        int64
	total, rate float64
}

func newKept() *kept {
	return &kept{map[slice.Ref]string{}, map[string]*held{}, map[string]int{}}
}

func (k *kept) take(c *slice.Columns) {
	for _, d := range c.Definitions {
		k.names[d.Ref] = d.Series.Name() + "/" + d.Series.Labels.Get("worker") + "/" + d.Series.Labels.Get("metric")
	}
	for i, ref := range c.Refs {
		var name, of string
		name = k.names[ref]
		for at := range name {
			if name[at] == '/' {
				name, of = name[:at], name[at:]
				break
			}
		}
		k.values[name]++
		if (name == "samples" || name == "rate") && k.totals[of] == nil {
			k.totals[of] = &held{}
		}
		switch v := c.Values[i]; {
		case math.IsNaN(v):
		case name == "samples":
			k.totals[of].atMs, k.totals[of].total = c.EndsMs[i], v
		case name == "rate":
			k.totals[of].rate = v
		}
	}
	c.Reset()
}

// Of 500 workers that are well, with 80 metrics of one series each 10 s, the collection's own are some eight values a
// worker and period, where a value of three series a metric was 241; and the stored totals are right to a sample at
// each period, though none of these is stored. One metric of each worker then comes late by half, then less often.
func TestWhatHealthCosts(t *testing.T) {
	const workers, metrics, periods = 5, 80, 250
	o := DefaultOptions()
	o.Health = testHealth(30_000)
	o.Health.MaxMetrics = 256
	s, err := New(o)
	require.NoError(t, err)
	s.Connect(1)
	for id := range uint32(workers * metrics) {
		name := fmt.Sprintf("m%d", id%metrics)
		o.Health.Steady[name] = true
		s.Define(id, metric.Rule{Worker: metric.Worker{Topology: "t", Host: fmt.Sprint("w", id/metrics), Port: 1},
			PerUnit: 1, Most: 1e300, IntervalMs: 10_000, Temporality: metric.Gauge,
			Series: metric.Series{Kind: metric.KindGauge, Labels: labels.FromStrings("__name__", name, "worker",
				fmt.Sprint(id/metrics))}})
	}
	k := newKept()
	worst := 0.0
	send := func(from, to int64, left func(uint32, int64) bool) {
		for n := from; n < to; n++ {
			now := 1_000_000 + n*10_000
			s.Begin(1, uint64(n))
			s.Received(now + 300)
			for id := range uint32(workers * metrics) {
				if !left(id, n) {
					s.Add(id, now, 1)
				}
			}
			s.End()
			k.take(s.Closed())
			for _, src := range s.sources {
				for _, m := range src.health.metrics {
					if h := k.totals["/"+src.worker.String()+"/"+m.name]; h != nil &&
						m.checkedTo == src.health.writtenTo {
						worst = max(worst, math.Abs(float64(m.checked)-h.total-h.rate*float64(m.checkedTo-h.atMs)/1000))
					}
				}
			}
		}
	}
	ownValues := func() (all int) {
		for name, n := range k.values {
			if name[0] != 'm' || name == "missing" {
				all += n
			}
		}
		return all
	}
	send(0, 60, func(uint32, int64) bool { return false })
	begun := ownValues()
	assert.Less(t, begun, workers*(metrics*8+20*8), "at first each metric is described")
	send(60, 60+3*periods, func(uint32, int64) bool { return false })
	each := float64(ownValues()-begun) / workers / periods
	t.Logf("%.2f values a worker and period", each)
	assert.Less(t, each, 0.1*(3*metrics+1))
	assert.Zero(t, k.values["missing"])
	assert.LessOrEqual(t, worst, 1.0)

	before := ownValues()
	send(60+3*periods, 60+3*periods+30, func(id uint32, n int64) bool { return id%metrics == 7 && n%2 == 0 })
	assert.Positive(t, k.values["missing"])
	assert.Less(t, ownValues()-before, workers*20*25, "only what is wrong costs")
	assert.LessOrEqual(t, worst, 1.0)
}
