package annotations

import (
	"math"

	"github.com/prometheus/prometheus/model/value"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// shortestMs is the minimum duration of the series Start. apartMs is the interval between samples: PromQL uses a
// sample for five minutes, so that one per minute is enough for any step.
const (
	shortestMs = 10_000
	apartMs    = 60_000
)

// samples returns the samples of an annotation in the time range. The last one is a stale marker. Without it, PromQL
// would extend the series by five minutes. stepMs is the step of a range query, or 0 for an instant query.
func (q *querier) samples(name string, a registry.Annotation, stepMs int64) []query.Point {
	fromMs, toMs, v := a.TimeMs, a.EndMs, 1.0
	switch {
	case name == Start:
		toMs, v = a.TimeMs+max(stepMs, shortestMs), float64(a.TimeMs)/1000
	case a.Open():
		toMs = math.MaxInt64
	case a.EndMs == 0:
		return nil // without an end it has no duration
	}
	return between(fromMs, toMs, v, q.minMs, q.maxMs)
}

// between returns samples with the value v for [fromMs, toMs], limited to [minMs, maxMs].
func between(fromMs, toMs int64, v float64, minMs, maxMs int64) (all []query.Point) {
	first := fromMs
	if fromMs < minMs {
		// the times do not depend on the range, so that answers are reproducible
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
