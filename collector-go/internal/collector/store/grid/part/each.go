package part

import (
	"bytes"
	"errors"
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// Each calls fn for all series in order, with all their runs, which fn may keep. It ends at the first error of fn.
// After damage it continues, and returns the first *run.DamageError at the end. It omits series without any readable
// slice. Repair uses it to copy a damaged part.
func (p *Part) Each(fn func(l labels.Labels, runs []run.Run) error) error {
	var damage error
	c := cursor{part: p}
	for {
		err := c.next()
		if errors.Is(err, errEnd) {
			return damage
		}
		if other := keepFirst(&damage, err); other != nil {
			return other
		}
		if err != nil && len(c.runs) == 0 {
			continue
		}
		if err := fn(c.labels, c.runs); err != nil {
			return err
		}
	}
}

// errEnd is returned by next and move after the last series.
var errEnd = errors.New("no further series")

// cursor iterates over a part's series in order, for Each and for Merge. The cursors of one merge share the labels of
// the block that was read last.
type cursor struct {
	part  *Part
	block uint64 // number of the next block
	all   *labelReader
	slots *columns
	i     int
	build labels.ScratchBuilder
	// sharedLabels has what another cursor read last. It is nil if cursors do not share labels.
	sharedLabels *sharedLabels
	known        []labels.Labels // labels of the block's series, if sharedLabels is set

	labels labels.Labels
	pieces []piece
	runs   []run.Run
}

// sharedLabels holds the labels of the series block that was read last. Parts that are merged mostly have the same
// series in the same blocks, and then these are decoded only once.
type sharedLabels struct {
	encoded []byte
	labels  []labels.Labels
}

// next moves to the next series and reads it. After a *run.DamageError, runs has what could be read, and next may be
// called again. If no series of a block could be read, the cursor has no runs for the block.
func (c *cursor) next() error {
	c.runs = nil
	if err := c.move(); err != nil {
		return err
	}
	var err error
	c.runs, err = c.part.runs(c.pieces, math.MinInt64, math.MaxInt64, nil)
	return c.named(err)
}

// move moves to the next series. It only reads the labels and the positions of the columns.
func (c *cursor) move() error {
	for c.all == nil && c.known == nil || c.i == c.part.seriesIn(c.block-1) {
		if c.block == c.part.footer.blocks {
			return errEnd
		}
		c.block++
		c.i = 0
		if err := c.open(c.block - 1); err != nil {
			c.all, c.known = nil, nil
			return err
		}
	}
	if c.known != nil {
		c.labels = c.known[c.i]
	} else if err := c.read(); err != nil {
		c.all = nil
		return err
	}
	c.pieces = c.slots.of(c.i)
	c.i++
	return nil
}

// read reads the labels of the next series of the block. If the block has fewer series than the footer states, it is
// damaged.
func (c *cursor) read() error {
	if !c.all.next() {
		e, _ := c.part.entry(c.part.footer.pages + c.block - 1)
		return c.part.blockDamage(errContent, c.block-1, e)
	}
	c.labels = c.all.labels(&c.build)
	return nil
}

// named adds the series' labels to a *run.DamageError without labels. Columns are read without labels, so their damage
// first names only the file and the time.
func (c *cursor) named(err error) error {
	if damage, is := errors.AsType[*run.DamageError](err); is && damage.Labels == "" {
		damage.Labels = c.labels.String()
	}
	return err
}

// open reads the columns and the labels of a block.
func (c *cursor) open(block uint64) error {
	b, err := c.part.block(block)
	if err != nil {
		return err
	}
	if c.slots, err = c.part.readColumns(block, b); err != nil {
		return err
	}
	if c.sharedLabels != nil {
		return c.openShared(block, b)
	}
	c.all, err = c.part.readLabels(block, b)
	return err
}

// openShared uses the labels of another cursor if the encoded labels are equal. Otherwise it reads the labels of the
// whole block.
func (c *cursor) openShared(block uint64, b []byte) (err error) {
	series := c.part.seriesIn(block)
	encoded, err := labelPart(b, series)
	if err == nil && bytes.Equal(encoded, c.sharedLabels.encoded) && len(c.sharedLabels.labels) == series {
		c.known = c.sharedLabels.labels
		return nil
	}
	if c.all, err = c.part.readLabels(block, b); err != nil {
		return err
	}
	known := make([]labels.Labels, 0, series)
	for range series {
		if err := c.read(); err != nil {
			return err
		}
		known = append(known, c.labels)
	}
	*c.sharedLabels = sharedLabels{encoded, known}
	c.known = known
	return nil
}
