package catalog

import (
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Reasons for which samples are left out (another series has the same value) or refused (they cannot be used). They are
// values of the label reason in metrics and of NotStored in the HTTP API, so they never change.
const (
	ReasonSampler     = "sampler"      // left out: the worker's own sampler reports it
	ReasonRepeat      = "repeat"       // left out: another series has a shorter interval, or a better name
	ReasonDerived     = "derived"      // left out: it can be computed from what is stored
	ReasonOwnName     = "own_name"     // left out: a metric of the topology itself has a name that is derived from it
	ReasonCollision   = "collision"    // refused: another series has the same name and labels
	ReasonSeriesLimit = "series_limit" // refused: more series than the catalog may hold
	ReasonUndefined   = "undefined"    // refused: its series was never defined
)

// reasons lists all reasons; the first one means that there is none. An entry stores the index in one byte instead of a
// string of 16 bytes. The order is free, because no index is written to disk.
var reasons = [...]string{"", ReasonSampler, ReasonRepeat, ReasonDerived, ReasonCollision, ReasonSeriesLimit,
	ReasonUndefined, ReasonOwnName}

func reasonCode(reason string) uint8 {
	code := slices.Index(reasons[:], reason)
	if code < 0 {
		panic("catalog: " + reason + " is not a listed reason")
	}
	return uint8(code)
}

// temporality decides what the values of a series count from. The table comes first, then the sender's statement, and
// then the default of the kind. The one exception is byRelease: the sender's statement comes first, and the Storm
// release decides only if the sender states nothing.
func temporality(known, said metric.Temporality, kind metric.Kind, storm releases) metric.Temporality {
	switch {
	case known == byRelease && said != metric.TemporalityUnknown:
		return said
	case known == byRelease && storm.to <= until22.to:
		return metric.Delta
	case known == byRelease:
		return metric.Cumulative
	case known != metric.TemporalityUnknown:
		return known
	case kind == metric.KindGauge:
		return metric.Gauge
	case said == metric.Cumulative:
		return metric.Cumulative
	}
	return metric.Delta
}

// unknownKind returns the kind of a metric that is not in the table: a gauge, unless the sender states that it counts.
func unknownKind(raw *metric.Raw) metric.Kind {
	switch {
	case raw.Shape == metric.ShapeHistogram:
		return metric.KindDistribution
	case raw.Temporality == metric.Delta, raw.Temporality == metric.Cumulative:
		return metric.KindCounter
	}
	return metric.KindGauge
}

// sanitise converts a name to one that PromQL reads without quotes. kept reports whether the result still identifies
// the name.
func sanitise(name string) (clean string, kept bool) {
	letters, foreign := false, false
	clean = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			letters = true
			return r
		case r > 127:
			foreign = true
		}
		return '_'
	}, strings.TrimLeft(name, "_"))
	return clean, letters && !foreign
}
