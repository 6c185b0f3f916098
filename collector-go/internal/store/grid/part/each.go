package part

import (
	"errors"
	"math"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

// Each calls fn for all series in order, with all their runs; fn may keep what it is given. It ends with fn's first error. Damage does
// not end it: the first *run.DamageError comes after all that could be read. A series of which nothing could be read is left out.
func (p *Part) Each(fn func(l labels.Labels, runs []run.Run) error) error {
	var damage *run.DamageError
	c := cursor{part: p}
	for {
		err := c.next()
		var known *run.DamageError
		switch {
		case errors.Is(err, errEnd):
			if damage != nil {
				return damage
			}
			return nil
		case errors.As(err, &known):
			if damage == nil {
				damage = known
			}
			if len(c.runs) == 0 {
				continue
			}
		case err != nil:
			return err
		}
		if err := fn(c.labels, c.runs); err != nil {
			return err
		}
	}
}

var errEnd = errors.New("no further series")

// cursor goes through a part's series in order.
type cursor struct {
	part   *Part
	block  uint64 // the next
	all    *labelReader
	places *columns
	i      int
	build  labels.ScratchBuilder

	labels labels.Labels
	pieces []piece
	runs   []run.Run
}

// next moves to the next series and reads it. After a *run.DamageError runs are those that could be read, and it can be called again; none
// stands for a block of which no series could be read.
func (c *cursor) next() error {
	c.runs = nil
	if err := c.move(); err != nil {
		return err
	}
	var err error
	c.runs, err = c.part.runs(c.pieces, math.MinInt64, math.MaxInt64, nil)
	return c.named(err)
}

// move moves to the next series, of which it reads labels and where its columns are.
func (c *cursor) move() error {
	for c.all == nil || c.i == c.part.seriesIn(c.block-1) {
		if c.block == c.part.footer.blocks {
			return errEnd
		}
		c.block++
		c.i = 0
		if err := c.open(c.block - 1); err != nil {
			c.all = nil
			return err
		}
	}
	if !c.all.next() {
		c.all = nil
		e, _ := c.part.entry(c.part.footer.pages + c.block - 1)
		return c.part.blockDamage(errContent, c.block-1, e)
	}
	c.labels = c.all.labels(&c.build)
	c.pieces = c.places.of(c.i)
	c.i++
	return nil
}

// named puts the series' labels into what is damaged of it.
func (c *cursor) named(err error) error {
	var damage *run.DamageError
	if errors.As(err, &damage) && damage.Labels == "" {
		damage.Labels = c.labels.String()
	}
	return err
}

func (c *cursor) open(block uint64) error {
	b, err := c.part.block(block)
	if err != nil {
		return err
	}
	if c.places, err = c.part.readColumns(block, b); err != nil {
		return err
	}
	c.all, err = c.part.readLabels(block, b)
	return err
}
