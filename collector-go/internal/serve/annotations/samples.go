package annotations

import (
	"math"

	"github.com/prometheus/prometheus/model/value"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// How far apart samples are: a sample counts for five minutes in PromQL, so that one a minute is enough for any step.
const (
	shortestMs = 10_000
	apartMs    = 60_000
)

// samples of an annotation within the range, the last of them the marker that ends it: without one PromQL would draw it
// on for five minutes. stepMs is the step of a range query, 0 where there is none.
func (q *querier) samples(name string, a registry.Annotation, stepMs int64) []query.Point {
	fromMs, toMs, v := a.TimeMs, a.EndMs, 1.0
	switch {
	case name == Start:
		toMs, v = a.TimeMs+max(stepMs, shortestMs), float64(a.TimeMs)/1000
	case a.Open():
		toMs = math.MaxInt64
	case a.EndMs == 0:
		return nil // a moment
	}
	return between(fromMs, toMs, v, q.minMs, q.maxMs)
}

// between has a value in [fromMs, toMs], as far as [minMs, maxMs] shows it.
func between(fromMs, toMs int64, v float64, minMs, maxMs int64) (all []query.Point) {
	first := fromMs
	if fromMs < minMs {
		// on the same marks whatever the range, so that answers repeat
		first = fromMs + (minMs-fromMs+apartMs-1)/apartMs*apartMs
	}
	for ms := first; ms <= min(toMs, maxMs); ms += apartMs {
		all = append(all, query.Point{T: ms, F: v})
	}
	if toMs < maxMs && toMs+1 >= minMs {
		all = append(all, query.Point{T: toMs + 1, F: math.Float64frombits(value.StaleNaN)})
	}
	return all
}
