package feed

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"

// Accounting is the accounting of a feed: it says what became of each sample that the feed read, over the journal's
// life. Read is the sum of all other counts, unless topologies moved between collectors: Accounting leaves out
// "moved".
type Accounting struct {
	Read, InSlices, Open, Expired uint64
	Refused, LeftOut              map[string]uint64 // by reason; what came too late is refused under "late"
}

// Accounting returns the counts as they were at the last hand-over to the store. It is safe for concurrent use.
func (f *Feed) Accounting() Accounting {
	b := Accounting{Refused: map[string]uint64{}, LeftOut: map[string]uint64{}}
	for what, n := range f.figures.published.Load().samples {
		switch what.name {
		case "read":
			b.Read = n
		case "in_slices":
			b.InSlices = n
		case "open":
			b.Open = n
		case "expired":
			b.Expired = n
		case "late":
			b.Refused["late"] += n
		case "refused":
			b.Refused[what.reason] += n
		case "left_out":
			b.LeftOut[what.reason] += n
		}
	}
	return b
}

// UnknownNames returns the metric names, as Storm has them, that a topology reported and the catalog does not know.
// Call it only after Run has returned, since it reads the pipeline.
func (f *Feed) UnknownNames(topology string) []string {
	return f.pipeline.catalog.UnknownNames(topology)
}

// NotStored are the metrics of a topology that are not stored, by name, and how many more there are.
type NotStored struct {
	Names []catalog.NotStored
	More  int
}

// NotStored returns the metrics of a topology that are not stored, and how many more there are, as of the last
// hand-over. It is safe for concurrent use.
func (f *Feed) NotStored(topology string) ([]catalog.NotStored, int) {
	n := (*f.figures.notStored.Load())[topology]
	return n.Names, n.More
}
