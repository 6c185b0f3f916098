package journal

import (
	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Position is a place in the journal. It increases with every record across all segments, and survives restarts. The
// upper 32 bits are the segment's number and the lower 32 bits the offset in its file. 0 is before the first record.
//
// A position is never assigned to another record: every start opens a new segment, even after a tail was cut. A store
// can therefore keep a position as its cursor.
type Position uint64

// SeriesID is the id that the journal assigned to a series. It is never reused for another series of the same journal.
// A stale id can therefore be recognised as forgotten and never refers to another series.
type SeriesID uint32

// ProducerID is the id that the journal assigned to a producer, which is a sender's topology, host, port and task. It
// stays the same if that producer opens another stream.
type ProducerID uint32

// Epoch identifies one process of a sender. Sequences restart with each epoch, so deduplication compares both.
type Epoch [16]byte

// LayoutID is the id that the journal assigned to a layout, which is an ordered list of series. It is never reused for
// another layout of the same journal.
type LayoutID uint32

// Entry is one record as a reader receives it: *SeriesDefined, *LayoutDefined, *ProducerDefined, *Forgotten, *Batch,
// *Connected, *Disconnected, *Moved, *Tick or *Started. Readers share entries, so an entry must never be changed. It
// stays valid after the next call of Next, with one exception. The block bytes of a batch that was read from a file do
// not (see Batch.Retained).
type Entry interface{ entry() }

// SeriesDefined comes before the first batch that uses its ID, and again in every segment header.
type SeriesDefined struct {
	ID     SeriesID
	Series metric.Raw
}

// LayoutDefined comes before the first batch that uses its ID, after the definitions of its series, and again in every
// segment header.
type LayoutDefined struct {
	ID     LayoutID
	Series []SeriesID
}

// Forgotten records that idle ids were forgotten. No later entry uses them, so a reader can drop their state. A series
// that comes back gets another ID. A reader receives only ids whose definitions it received before.
type Forgotten struct {
	Series    []SeriesID
	Layouts   []LayoutID
	Producers []ProducerID
	TimeMs    int64
}

// ProducerDefined comes before the first use of its ID, and again in every segment header.
type ProducerDefined struct {
	ID         ProducerID
	Topology   string
	TopologyID string
	Host       string
	Port       uint32
	Task       int32
}

// Batch holds the samples that one producer sent together, without those that ingest rejected. Topology, Epoch and
// Sequence identify it for deduplication.
type Batch struct {
	Producer   ProducerID
	Epoch      Epoch
	Sequence   uint64
	SentMs     int64 // by the producer's clock
	ReceivedMs int64 // by the collector's clock

	// Samples in columns of equal length.
	IDs     []SeriesID
	TimesMs []int64
	Values  []float64

	// Blocks contain samples too, each block for the series of one layout.
	Blocks []Block

	// Histograms are distributions. Their SeriesId is a SeriesID of this journal.
	Histograms []*bulletmetricsv1.HistogramSample

	// Notes contain what else the producer reported: drops, gaps, topology, workers, annotations, clocks, closing. All
	// other fields are empty. nil if there is nothing.
	Notes *bulletmetricsv1.Batch
}

// Block is a block as its sender encoded it, with the journal's ID of its layout. The journal does not decode it,
// because decoding would take most of the time of ingest.
type Block struct {
	Layout LayoutID
	block.Block
}

// Samples returns the number of samples in the batch, including histograms.
func (b *Batch) Samples() int {
	n := len(b.IDs) + len(b.Histograms)
	for i := range b.Blocks {
		n += b.Blocks[i].Samples()
	}
	return n
}

// Connected records that a producer opened a stream. From then on its silence means that samples are missing.
type Connected struct {
	Producer ProducerID
	TimeMs   int64
}

// Disconnected records that a producer's stream ended, for whatever reason. The producer may open another one.
type Disconnected struct {
	Producer ProducerID
	TimeMs   int64
}

// Moved records that a sender arrived with a generation that was new to this journal. A generation is the number of
// collectors that an epoch of the sender has used. The state that the sender brings replaces everything known about its
// topology. If the sender brings no state, the known state is cleared, unless First is set (docs/decisions/0018).
type Moved struct {
	Producer ProducerID
	Epoch    Epoch      // epoch of the batches of this generation
	First    bool       // the sender has used no other collector since it started, so the known state stays valid
	Series   []SeriesID // this journal's ids of the series in the state, in its order
	State    []byte     // as encoded by a collector's feed; empty if there is none
	TimeMs   int64
}

// Tick is the collector's clock, written once a second. The slicer has no other clock, so a replay of the journal
// produces the same slices. Topologies whose sender moves between collectors are the exception.
type Tick struct{ TimeMs int64 }

// Started records that the collector started, so that no producer is connected. Streams that a crash ended have no
// Disconnected entry, so this entry stands for all of them.
type Started struct{ TimeMs int64 }

func (*SeriesDefined) entry()   {}
func (*LayoutDefined) entry()   {}
func (*Forgotten) entry()       {}
func (*ProducerDefined) entry() {}
func (*Batch) entry()           {}
func (*Connected) entry()       {}
func (*Disconnected) entry()    {}
func (*Moved) entry()           {}
func (*Tick) entry()            {}
func (*Started) entry()         {}
