package feed

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"

// Accounting is the accounting of a feed: it counts what happened to each sample that the feed read, over the journal's
// life. Read is the sum of all other counts, unless topologies moved between collectors, because Accounting has no
// count for "moved".
type Accounting struct {
	Read, InSlices, Open, Expired uint64
	Refused, LeftOut              map[string]uint64 // by reason; late samples are refused under "late"
}

// Accounting returns the counts as of the last hand-over to the store. It is safe for concurrent use.
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

// UnknownNames returns the metric names, as Storm reports them, that a topology sent and the catalog does not know.
// Call it only after Run has returned, because it reads the pipeline.
func (f *Feed) UnknownNames(topology string) []string {
	return f.pipeline.catalog.UnknownNames(topology)
}

// NotStored lists the metrics of a topology that are not stored. More is the number of metrics that Names leaves out.
type NotStored struct {
	Names []catalog.NotStored
	More  int
}

// NotStored returns the metrics of a topology that are not stored, and how many more there are, as of the last
// hand-over to the store. It is safe for concurrent use.
func (f *Feed) NotStored(topology string) ([]catalog.NotStored, int) {
	n := (*f.figures.notStored.Load())[topology]
	return n.Names, n.More
}
