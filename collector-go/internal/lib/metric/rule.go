package metric

// Rule defines how the samples of one raw series become slices of a canonical one. The catalogue makes it, the slicer
// follows it, and neither knows the other.
type Rule struct {
	// Worker is the source whose watermark closes the slices.
	Worker Worker
	// Series is what users meet.
	Series Series
	// MinName and MaxName name the least and greatest sample of a gauge's slice; they are stored where a slice can hold
	// more than one sample. "" where they say nothing.
	MinName, MaxName string
	// NegativeName names the counter of a distribution's negative observations; "" for any other kind.
	NegativeName string
	// RestartsName is set on the start time of the worker's process alone: it names the counter of its changes. Such a
	// series is stored as the last sample of a slice, and a change of it resets the worker's cumulative counters.
	RestartsName string
	// Temporality is Gauge, Delta or Cumulative; never unknown.
	Temporality Temporality
	// PerUnit is how many of the source's units make one of the canonical unit: 1000 from ms to seconds. A divisor,
	// since dividing by 1000 is exact where multiplying by 0.001 is not.
	PerUnit float64
	// Least and Most bound a value that makes sense, in the source's unit, both included; what is outside is refused as
	// nonsense.
	Least, Most float64
	// IntervalMs is how often the source reports; 0 where it does not say.
	IntervalMs int64
	// PackSpanMs is the most that one pack of samples spans; 0 where samples come alone.
	PackSpanMs int64
}
