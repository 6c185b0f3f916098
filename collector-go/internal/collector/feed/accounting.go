package feed

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"

// Accounting is the accounting of a feed: it says what became of each sample that the feed read, over the journal's
// life. Read is the sum of all other counts, unless topologies moved between collectors: Accounting leaves out
// "moved".
type Accounting struct {
	Read, InSlices, Open, Expired uint64
	Refused, LeftOut              map[string]uint64 // by reason; what came too late is refused under "late"
}

// Accounting is the accounting those at the last hand-over to the store. Safe from any goroutine.
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

// UnknownNames are the names, as Storm has them, under which a topology reported what the catalogue has no name for. To
// be called when Run has returned.
func (f *Feed) UnknownNames(topology string) []string {
	return f.pipeline.catalog.UnknownNames(topology)
}

// NotStored are the metrics of a topology that are not stored, by name, and how many more there are.
type NotStored struct {
	Names []catalog.NotStored
	More  int
}

// NotStored are those of a topology at the last hand-over to the store. Safe from any goroutine.
func (f *Feed) NotStored(topology string) ([]catalog.NotStored, int) {
	n := (*f.figures.notStored.Load())[topology]
	return n.Names, n.More
}
