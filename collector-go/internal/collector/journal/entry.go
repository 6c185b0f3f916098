package journal

import (
	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Position is a place in the journal. It grows with every record across all segments, and survives restarts. The upper
// 32 bits are the segment's number and the lower 32 bits the offset in its file. 0 is before the first record.
//
// A position is never given to another record: every start opens a new segment, even after a tail was cut. A store can
// therefore keep a position as its cursor.
type Position uint64

// SeriesID is the journal's own name of a series. It is never reused for another series of the same journal, so a stale
// id can be recognised as forgotten and never means something else.
type SeriesID uint32

// ProducerID is the journal's own name of a producer (one sender's place: topology, host, port, task). It is the same
// when that producer comes back on another stream.
type ProducerID uint32

// Epoch identifies one start of a sender. Sequences restart with each epoch, so deduplication compares both.
type Epoch [16]byte

// LayoutID is the journal's own name of a layout: an ordered list of series. It is never used again for another within
// one journal.
type LayoutID uint32

// Entry is one record as a reader receives it: *SeriesDefined, *LayoutDefined, *ProducerDefined, *Forgotten, *Batch,
// *Connected, *Disconnected, *Moved, *Tick or *Started. Readers share entries, so an entry must never be changed. It
// stays valid after the next call of Next, except for the block bytes of a batch that was read from a file (see
// Batch.Retained).
type Entry interface{ entry() }

// SeriesDefined comes before the first batch that uses its ID, and again in every segment header.
type SeriesDefined struct {
	ID     SeriesID
	Series metric.Raw
}

// LayoutDefined comes before the first batch that uses its ID, behind the definitions of its series, and again in
// every segment header.
type LayoutDefined struct {
	ID     LayoutID
	Series []SeriesID
}

// Forgotten records that idle ids were forgotten. No later entry uses them, so a reader drops everything it holds for
// them. A series that comes back gets another ID. A reader receives only ids that it received as definitions before.
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

// Batch holds the samples that one producer sent together, without those that ingest rejected. Epoch and Sequence
// identify it for deduplication.
type Batch struct {
	Producer   ProducerID
	Epoch      Epoch
	Sequence   uint64
	SentMs     int64 // by the producer's clock
	ReceivedMs int64 // by the collector's clock

	// Samples as columns of equal length.
	IDs     []SeriesID
	TimesMs []int64
	Values  []float64

	// Blocks are samples too, each of a layout's series.
	Blocks []Block

	// Histograms; their SeriesId is a SeriesID of this journal.
	Histograms []*bulletmetricsv1.HistogramSample

	// Notes are the rest of what the producer said: drops, gaps, topology, workers, annotations, clocks, closing; every
	// other field is empty. nil where there is none.
	Notes *bulletmetricsv1.Batch
}

// Block is a block as its sender encoded it, with the journal's ID of its layout. Nothing is decoded on the way to a
// store, because decoding would take most of the time of ingest.
type Block struct {
	Layout LayoutID
	block.Block
}

// Samples is the number of samples in the batch, histograms included.
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

// Disconnected records that a producer's stream ended, for whatever reason. The producer may come back on another one.
type Disconnected struct {
	Producer ProducerID
	TimeMs   int64
}

// Moved records that a sender arrived with a generation that this journal had not seen. A generation counts the
// collectors that an epoch of the sender has used. The state that the sender brings replaces everything known of its
// topology. A sender without a state clears it, unless First is set (docs/decisions/0018).
type Moved struct {
	Producer ProducerID
	Epoch    Epoch      // of the generation: that of the batches which follow
	First    bool       // it has sent to no other collector since it started: what was known goes on
	Series   []SeriesID // this journal's, for those that the state names, in its order
	State    []byte     // as a collector's feed encoded it; empty where there is none
	TimeMs   int64
}

// Tick is the collector's clock, written once a second. The slicer has no other clock, so a replay of the journal
// produces the same slices. Topologies whose sender moves between collectors are the exception.
type Tick struct{ TimeMs int64 }

// Started records that the collector started: no producer is connected. Streams that a crash ended have no
// Disconnected, so this entry stands for all of them.
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
