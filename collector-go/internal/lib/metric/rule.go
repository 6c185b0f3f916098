package metric

// Rule defines how the samples of one raw series become slices of a canonical series. The catalog makes it and the
// slicer applies it, so that neither needs to know the other.
type Rule struct {
	// Worker is the source whose watermark completes the slices.
	Worker Worker
	// Series is the canonical series.
	Series Series
	// MinName and MaxName are the names of the series with the minimum and maximum of a gauge's slice. They are stored
	// if a slice can have more than one sample. "" means that they are not stored.
	MinName, MaxName string
	// NegativeName is the name of the counter of a distribution's negative observations; "" for other kinds.
	NegativeName string
	// RestartsName is set only for the start time of the worker's process. It is the name of the counter of its
	// changes. Such a series is stored as the last sample of a slice, and a change resets the worker's cumulative
	// counters.
	RestartsName string
	// Temporality is Gauge, Delta or Cumulative, but never unknown.
	Temporality Temporality
	// PerUnit is how many units of the source are one canonical unit, for example 1000 from ms to seconds. It is a
	// divisor, because dividing by 1000 is exact and multiplying by 0.001 is not.
	PerUnit float64
	// Least and Most are the bounds of a valid value, inclusive and in the source's unit. A value outside is refused.
	Least, Most float64
	// IntervalMs is the reporting interval of the source; 0 if it is unknown.
	IntervalMs int64
	// PackSpanMs is the maximum time span of one pack of samples; 0 if samples are sent singly.
	PackSpanMs int64
}
