package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// wireBlock returns a received block with the number of columns of its layout. It shares the bytes of the message.
func wireBlock(b *pb.Block, columns int) (block.Block, error) {
	if b.GetCodec() < 0 || b.GetCodec() > math.MaxUint8 {
		return block.Block{}, fmt.Errorf("codec %d is unknown", b.GetCodec())
	}
	if b.GetCount() > block.MaxRows || b.GetStepMs() > block.MaxStepMs {
		return block.Block{}, fmt.Errorf("count %d or step_ms %d is above %d and %d", b.GetCount(), b.GetStepMs(),
			block.MaxRows, block.MaxStepMs)
	}
	out := block.Block{Columns: columns, Rows: int(b.GetCount()), FirstMs: b.GetFirstTimeMs(),
		StepMs: int64(b.GetStepMs()), Codec: block.Codec(b.GetCodec()), Values: b.GetValues()}
	if len(b.GetTimeOffsetsMs()) > 0 {
		out.OffsetsMs = b.GetTimeOffsetsMs()
	}
	if len(b.GetPresence()) > 0 {
		out.Presence = b.GetPresence()
	}
	return out, out.Check()
}

// maxBatchCells bounds the cells of all blocks of a batch together. An encoded value of a block can take half a byte,
// but it takes eight bytes once it is decoded.
const maxBatchCells = block.MaxCells

// checkBlocks validates the form of a batch's blocks against the layouts of the stream, and appends them.
func (t *table) checkBlocks(to []block.Block, blocks []*pb.Block) ([]block.Block, error) {
	cells := 0
	for i, b := range blocks {
		l := t.layouts.get(b.GetLayoutId())
		if l == nil {
			return nil, fmt.Errorf("batch.blocks[%d].layout_id %d was not defined on this stream", i, b.GetLayoutId())
		}
		checked, err := wireBlock(b, l.columns)
		if err != nil {
			return nil, fmt.Errorf("batch.blocks[%d]: %w", i, err)
		}
		if cells += checked.Cells(); cells > maxBatchCells {
			return nil, fmt.Errorf("batch.blocks have more than %d cells", maxBatchCells)
		}
		to = append(to, checked)
	}
	return to, nil
}

// admitBlocks admits a block as a whole if everything in it is good, which is nearly always the case. It then checks
// only the layout, the first and the last time and the bytes of the values, and decodes nothing. blocks are the checked
// blocks of wire.
func (a *admission) admitBlocks(wire []*pb.Block, blocks []block.Block, t *table) error {
	came, kept := 0, 0 // bytes
	for i := range blocks {
		b := &blocks[i]
		came += len(b.Values) + len(b.Presence)
		l := t.layouts.get(wire[i].GetLayoutId())
		a.received += b.Samples()
		if l.complete != 0 && a.allowed.covers(b) && b.FirstNonNumber() < 0 {
			a.batch.Blocks = append(a.batch.Blocks, journal.Block{Layout: l.complete, Block: *b})
			continue
		}
		if err := a.admitCells(b, l, t); err != nil {
			return err
		}
	}
	for i := range a.batch.Blocks {
		kept += len(a.batch.Blocks[i].Values) + len(a.batch.Blocks[i].Presence)
	}
	if 2*kept < came { // do not keep a whole message in memory for a small part of it
		for i := range a.batch.Blocks {
			b := &a.batch.Blocks[i]
			b.Values, b.Presence = bytes.Clone(b.Values), bytes.Clone(b.Presence)
		}
	}
	return nil
}

// covers reports whether all rows of a checked block are within the range. Only the first and the last are compared,
// because rows are in ascending order of time.
func (r timeRange) covers(b *block.Block) bool {
	return b.TimeMs(0) >= r.oldestMs && b.TimeMs(b.Rows-1) <= r.newestMs
}

// admitCells checks each cell of a block and keeps the good ones as a block of the remaining columns. If the journal
// accepts no further layout, they are stored as plain columns of samples.
func (a *admission) admitCells(b *block.Block, l *layout, t *table) error {
	t.layouts.columns = l.unpack(t.layouts.columns[:0])
	ids := t.layouts.columns
	part := newPart(b)
	values, next := b.Floats(nil), 0
	for column, id := range ids {
		s := t.slots.get(id)
		good := s.kind() == number
		if good {
			part.begin(column, s.id)
		}
		for row := range b.Rows {
			if !b.Present(column*b.Rows + row) {
				continue
			}
			value := values[next]
			next++
			if a.admitSample(id, s, b.TimeMs(row), value, t) {
				part.add(row, value)
			}
		}
	}
	layout, err := l.name(part, t)
	switch {
	case errors.Is(err, journal.ErrForgotten):
		return err
	case err != nil:
		part.asSamples(b, a.batch)
	case part.complete(b):
		a.batch.Blocks = append(a.batch.Blocks, journal.Block{Layout: layout, Block: *b})
	case len(part.values) > 0:
		a.batch.Blocks = append(a.batch.Blocks, journal.Block{Layout: layout, Block: part.block(b)})
	}
	return nil
}

// part is the accepted part of a block: some of its columns, and some cells of these. It is built column by column, in
// the order in which a block stores its values.
type part struct {
	rows     int
	columns  []int32
	series   []journal.SeriesID // of the columns
	presence []byte
	values   []float64
}

func newPart(of *block.Block) *part { return &part{rows: of.Rows} }

// begin adds a column.
func (p *part) begin(column int, id journal.SeriesID) {
	p.columns, p.series = append(p.columns, int32(column)), append(p.series, id)
}

// add adds a cell to the newest column.
func (p *part) add(row int, value float64) {
	cell := (len(p.columns)-1)*p.rows + row
	for cell/8 >= len(p.presence) {
		p.presence = append(p.presence, 0)
	}
	p.presence[cell/8] |= 1 << (cell % 8)
	p.values = append(p.values, value)
}

// complete reports whether nothing was rejected. The block can then be stored with its original bytes.
func (p *part) complete(of *block.Block) bool {
	return len(p.columns) == of.Columns && len(p.values) == of.Samples()
}

// block returns the part as a separate block. It has the times and the codec of the original.
func (p *part) block(of *block.Block) block.Block {
	out := *of
	out.Columns, out.Presence = len(p.columns), nil
	if len(p.values) < out.Cells() {
		out.Presence = append(p.presence, make([]byte, (out.Cells()+7)/8-len(p.presence))...)
	}
	if of.Codec == block.Trimmed {
		out.Values = block.AppendTrimmed(nil, p.values)
	} else {
		out.Values = block.AppendDoubles(nil, p.values)
	}
	return out
}

// asSamples appends the part as columns of samples. This takes more bytes than a block, but loses nothing.
func (p *part) asSamples(of *block.Block, to *journal.Batch) {
	to.Values = slices.Clip(to.Values) // the array may belong to the message
	next := 0
	for cell := range 8 * len(p.presence) {
		if p.presence[cell/8]>>(cell%8)&1 == 1 {
			to.IDs = append(to.IDs, p.series[cell/p.rows])
			to.TimesMs = append(to.TimesMs, of.TimeMs(cell%p.rows))
			to.Values = append(to.Values, p.values[next])
			next++
		}
	}
}

// name returns the journal's layout for the columns of a part. The last answer is cached, because the same series of a
// layout are usually bad from one batch to the next.
func (l *layout) name(p *part, t *table) (journal.LayoutID, error) {
	switch {
	case len(p.columns) == 0:
		return 0, nil
	case len(p.columns) == l.columns && l.complete != 0:
		return l.complete, nil
	case len(p.columns) < l.columns && l.part != 0 && slices.Equal(l.kept, p.columns):
		return l.part, nil
	}
	id, err := t.server.journal.DefineLayout(p.series)
	if err != nil {
		return 0, err
	}
	if len(p.columns) == l.columns {
		l.complete = id
	} else {
		l.part, l.kept = id, p.columns
	}
	return id, nil
}
