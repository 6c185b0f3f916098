package part

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// Check reads the whole file and reports all damage, even in data that only makes reading faster. A damaged page is
// reported once, with the first of its series. The error is one of reading, not damage. fsck and Repair use Check; the
// store itself only finds damage where it reads.
func (p *Part) Check(report func(*run.DamageError)) error {
	c := check{part: p, report: report, pages: map[uint64]*pageDamage{}, chunks: map[uint64]bool{}}
	var head [headerBytes]byte
	if err := p.read(head[:], 0); err != nil || string(head[:headerBytes-1]) != headerMagic ||
		head[headerBytes-1] == 0 || head[headerBytes-1] > version {
		if err == nil {
			err = errContent
		}
		if err := c.found(p.damage(err, "head", "nothing", 0, -1)); err != nil {
			return err
		}
	}
	for _, step := range []func() error{c.series, c.values, c.allPages} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// check reads a whole part. It keeps what it has reported, so that a damaged page is reported only once although
// hundreds of series share it.
type check struct {
	part   *Part
	report func(*run.DamageError)
	pages  map[uint64]*pageDamage
	chunks map[uint64]bool // damaged chunks that were reported
	last   labels.Labels
	some   bool
}

// pageDamage is a damaged page with its time range and the number of series that it affects. It names the first of the
// series.
type pageDamage struct {
	damage run.DamageError
	series int
}

// found reports damage, and returns any other error, which ends the check.
func (c *check) found(err error) error {
	if damage, is := errors.AsType[*run.DamageError](err); is {
		c.report(damage)
		return nil
	}
	return err
}

// chunk reads the directory chunk of an entry, and reports its damage once. ok is false if the entry cannot be read;
// everything that the entry describes is part of that damage.
func (c *check) chunk(entry uint64) (ok bool, err error) {
	_, err = c.part.entry(entry)
	if err == nil {
		return true, nil
	}
	if number := entry / chunkEntries; !c.chunks[number] {
		c.chunks[number] = true
		return false, c.found(err)
	}
	return false, nil
}

// series reads all series blocks and columns. It collects the damaged pages and reports them at the end, with the
// number of series that each affects.
func (c *check) series() error {
	p := c.part
	for block := range p.footer.blocks {
		if ok, err := c.chunk(p.footer.pages + block); err != nil {
			return err
		} else if !ok {
			continue
		}
		if err := c.found(c.block(block)); err != nil {
			return err
		}
	}
	for _, number := range slices.Sorted(maps.Keys(c.pages)) {
		d := c.pages[number]
		if d.series > 1 {
			d.damage.Labels = fmt.Sprintf("%s and %d more series", d.damage.Labels, d.series-1)
		}
		c.report(&d.damage)
	}
	return nil
}

// block reads all series of one block. It checks that they are sorted by labels, because readers search by that order.
func (c *check) block(block uint64) error {
	at := cursor{part: c.part, block: block + 1}
	if err := at.open(block); err != nil {
		return err
	}
	for i := range c.part.seriesIn(block) {
		e, _ := c.part.entry(c.part.footer.pages + block)
		if !at.all.next() {
			return c.part.blockDamage(errContent, block, e)
		}
		l := at.all.labels(&at.build)
		if c.some && labels.Compare(c.last, l) >= 0 {
			return c.part.blockDamage(fmt.Errorf("series are not in order: %w", errContent), block, e)
		}
		c.last, c.some = l, true
		if err := c.columns(l, at.slots.of(i)); err != nil {
			return err
		}
		if err := c.levels(at.slots.levelsOf(i)); err != nil {
			return err
		}
	}
	if at.all.failed() {
		e, _ := c.part.entry(c.part.footer.pages + block)
		return c.part.blockDamage(errContent, block, e)
	}
	return nil
}

// columns decodes the columns of a series, and collects damage by page. If the page's directory chunk is damaged, it
// only reports the chunk.
func (c *check) columns(l labels.Labels, pieces []piece) error {
	noted := map[uint64]bool{}
	for i := range pieces {
		one := &pieces[i]
		r := run.Run{FirstMs: one.firstMs, StepMs: one.stepMs}
		err := c.part.column(one, &r)
		if err == nil {
			continue
		}
		damage, is := errors.AsType[*run.DamageError](err)
		if !is {
			return err
		}
		if c.chunks[one.page/chunkEntries] {
			continue
		} else if _, err := c.part.entry(one.page); err != nil {
			if _, err := c.chunk(one.page); err != nil {
				return err
			}
			continue
		}
		d := c.pages[one.page]
		if d == nil {
			d = &pageDamage{damage: *damage}
			d.damage.Labels, d.damage.FromMs, d.damage.ToMs = l.String(), one.firstMs, one.lastMs()
			c.pages[one.page] = d
		}
		d.damage.FromMs, d.damage.ToMs = min(d.damage.FromMs, one.firstMs), max(d.damage.ToMs, one.lastMs())
		if !noted[one.page] {
			noted[one.page] = true
			d.series++
		}
	}
	return nil
}

// levels decodes the levels of a series. It reports a page once if some of it cannot be decoded. A damaged level loses
// no slice, so it is reported as part of the index.
func (c *check) levels(levels []level) error {
	for k := range levels {
		one := &levels[k]
		_, err := c.part.windows(one, run.LevelsMs[k], false)
		if err == nil {
			_, err = c.part.windows(one, run.LevelsMs[k], true)
		}
		if err == nil || c.pages[one.page] != nil {
			continue
		}
		if ok, err := c.chunk(one.page); err != nil {
			return err
		} else if !ok {
			continue
		}
		err = c.part.levelDamage(err, one.page)
		damage, is := errors.AsType[*run.DamageError](err)
		if !is {
			return err
		}
		c.pages[one.page] = &pageDamage{damage: *damage, series: 1}
	}
	return nil
}

// values reads the index of label values. Damage there costs time but no slice, so it is reported with no loss.
func (c *check) values() error {
	p := c.part
	for i := range p.footer.lists + 1 {
		number := p.footer.pages + p.footer.blocks + i
		if ok, err := c.chunk(number); err != nil {
			return err
		} else if !ok {
			continue
		}
		what := fmt.Sprintf("index (values block %d)", i)
		var err error
		if i == p.footer.lists {
			what = "index (names block)"
			_, err = p.labelNames()
		} else {
			err = p.values(i, func([]byte, varint.Reader) bool { return true })
		}
		if err != nil {
			if err := c.found(p.damage(err, what, "nothing", 0, -1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// allPages reads the pages that series did not read, because the blocks that refer to them are damaged.
func (c *check) allPages() error {
	for number := range c.part.footer.pages {
		if ok, err := c.chunk(number); err != nil {
			return err
		} else if !ok || c.pages[number] != nil {
			continue
		}
		if _, err := c.part.page(number); err != nil {
			if err := c.found(err); err != nil {
				return err
			}
		}
	}
	return nil
}
