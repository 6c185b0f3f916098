package tuning

// SearchKind is which steps of a row are measured.
type SearchKind string

// The searches over a row's ascending values.
const (
	// FullSearch measures every value.
	FullSearch SearchKind = "full"
	// StepSearch ascends and ends at the first that fails.
	StepSearch SearchKind = "step"
	// BinarySearch halves the interval that holds the capacity.
	BinarySearch SearchKind = "binary"
)

// Interval is where a capacity lies on the axis of a row: in [LastOK, FirstFail).
type Interval struct {
	// LastOK is the largest value that was OK below the first that failed; null where there is none.
	LastOK *float64 `json:"last_ok"`
	// FirstFail is the smallest value that failed; null where none did.
	FirstFail *float64 `json:"first_fail"`
	// Censored says that nothing failed up to the row's end: LastOK is a lower bound and no capacity.
	Censored bool `json:"censored"`
	// Inconclusive are values that could not be judged, however often they were measured; each widens the interval.
	Inconclusive []float64 `json:"inconclusive,omitempty"`
	Note         string    `json:"note,omitempty"`
}
