package part

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/column"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// Runs implements run.Reader. It may decode values into buffers that the caller leaves behind the end of to (see
// run.Run.Given). A query over many series then allocates memory only once.
func (p *Part) Runs(ref uint32, minMs, maxMs int64, to []run.Run) ([]run.Run, error) {
	c, err := p.columnsFor(ref)
	if err != nil {
		return to, err
	}
	to, err = p.runs(c.of(int(ref%seriesInBlock)), minMs, maxMs, to)
	if damage, is := errors.AsType[*run.DamageError](err); is && damage.Labels == "" {
		damage.Labels = fmt.Sprintf("series %d", ref)
		if l, failed := p.labelsOf(ref); failed == nil {
			damage.Labels = l.String()
		}
	}
	return to, err
}

// runs appends the runs of columns that have slots within [minMs, maxMs]. Whole columns are decoded, so a run may
// extend beyond that range, and the reader skips what it does not want. Columns that follow each other become one run.
// All damage is returned as one *run.DamageError without labels.
func (p *Part) runs(pieces []piece, minMs, maxMs int64, to []run.Run) ([]run.Run, error) {
	var damage *run.DamageError
	first := len(to)
	for i := range pieces {
		c := &pieces[i]
		if c.lastMs() < minMs || c.firstMs > maxMs {
			continue
		}
		last := (*run.Run)(nil)
		if len(to) > first && follows(&to[len(to)-1], c) {
			last = &to[len(to)-1]
		} else {
			var values []float64
			if n := len(to); n < cap(to) && to[:n+1][n].Given {
				values = to[:n+1][n].Values[:0]
			}
			to = append(to, run.Run{FirstMs: c.firstMs, StepMs: c.stepMs})
			last = &to[len(to)-1]
			if !c.distributions {
				last.Values, last.Given = slices.Grow(values, ahead(pieces[i:], maxMs)), true
			}
		}
		err := p.column(c, last)
		if err == nil {
			continue
		}
		if last.Slots() == 0 {
			to = to[:len(to)-1]
		}
		known, is := errors.AsType[*run.DamageError](err)
		switch {
		case !is:
			return to, err
		case damage == nil:
			damage = &run.DamageError{File: p.name, What: known.What, FromMs: c.firstMs, ToMs: c.lastMs(),
				Err: known.Err}
		default:
			damage.FromMs, damage.ToMs = min(damage.FromMs, c.firstMs), max(damage.ToMs, c.lastMs())
		}
	}
	// Runs that overlap are sorted by their beginnings. If a run is cut at its beginning, this differs from the order
	// of the columns.
	slices.SortStableFunc(to[first:], byFirst)
	if damage != nil {
		return to, damage
	}
	return to, nil
}

// byFirst compares runs by their beginnings.
func byFirst(a, b run.Run) int { return cmp.Compare(a.FirstMs, b.FirstMs) }

// follows reports whether a column continues a run: it has the same distance, phase and kind, begins where the run
// ends, and fits within MaxRunSlots.
func follows(r *run.Run, c *piece) bool {
	return r.StepMs == c.stepMs && c.firstMs == r.FirstMs+int64(r.Slots())*r.StepMs &&
		(r.Values == nil) == c.distributions &&
		r.Slots()+c.slots <= MaxRunSlots
}

// ahead returns how many slots the first column and those that continue it up to maxMs have, at most MaxRunSlots. The
// run's memory is reserved once for all of them.
func ahead(pieces []piece, maxMs int64) int {
	n := pieces[0].slots
	for i := 1; i < len(pieces); i++ {
		a, b := &pieces[i-1], &pieces[i]
		if b.firstMs > maxMs || b.stepMs != a.stepMs || b.firstMs != a.lastMs()+a.stepMs ||
			b.distributions != a.distributions ||
			n+b.slots > MaxRunSlots {
			break
		}
		n += b.slots
	}
	return n
}

// column decodes a column and appends it to a run. After an error the run is unchanged, so that it keeps the slots
// before a damaged column.
func (p *Part) column(c *piece, to *run.Run) error {
	src, err := p.columnBytes(c)
	if err != nil {
		return err
	}
	var present []uint64
	before := to.Slots()
	if c.distributions {
		all, some, failed := column.Histograms(src, c.slots)
		if present, err = some, failed; err == nil {
			if before == 0 {
				to.Histograms = all
			} else {
				to.Histograms = append(to.Histograms, all...)
			}
		}
	} else {
		to.Values = slices.Grow(to.Values, c.slots)[:before+c.slots]
		if present, err = column.Floats(src, to.Values[before:]); err != nil {
			to.Values = to.Values[:before]
		}
	}
	if err != nil {
		return p.columnDamage(err, c)
	}
	if present != nil || to.Present != nil {
		to.Present = appendPresent(to.Present, before, present, c.slots)
	}
	return nil
}

// columnBytes returns an encoded column. The bytes are shared with the cached page, so the caller must not change them.
func (p *Part) columnBytes(c *piece) ([]byte, error) {
	page, err := p.page(c.page)
	if err != nil {
		return nil, err
	}
	if uint64(c.offset)+uint64(c.length) > uint64(len(page)) {
		return nil, p.columnDamage(errContent, c)
	}
	return page[c.offset : c.offset+c.length], nil
}

// columnDamage returns an error that names the column of a page that cannot be decoded, and its time range. The caller
// adds the labels.
func (p *Part) columnDamage(err error, c *piece) error {
	what := fmt.Sprintf("page %d, bytes %d to %d", c.page, c.offset, uint64(c.offset)+uint64(c.length))
	return p.damage(err, what, "", c.firstMs, c.lastMs())
}

// appendPresent joins the presence of before slots and that of the next slots. nil means that all are present. A run
// only gets presence with its first column that lacks a slice.
func appendPresent(all []uint64, before int, more []uint64, slots int) []uint64 {
	if before == 0 {
		return more
	}
	joined := make([]uint64, (before+slots+63)/64)
	orBits(joined, 0, all, before)
	orBits(joined, before, more, slots)
	return joined
}

// orBits sets the bits from at on that are set in from. nil means that all slots are present. Bits that are already
// set stay set, so the presence of several sources can be combined in one slice.
func orBits(to []uint64, at int, from []uint64, slots int) {
	for i := 0; i < slots; i += 64 {
		word := ^uint64(0)
		if from != nil {
			word = from[i>>6]
		}
		if left := slots - i; left < 64 {
			word &= 1<<left - 1
		}
		to[(at+i)>>6] |= word << ((at + i) & 63)
		if over := (at + i) & 63; over > 0 && word>>(64-over) != 0 {
			to[(at+i)>>6+1] |= word >> (64 - over)
		}
	}
}

// labelsOf reads the labels of one series, to name damage. Readers already have the labels.
func (p *Part) labelsOf(ref uint32) (labels.Labels, error) {
	block := uint64(ref) / seriesInBlock
	b, err := p.block(block)
	if err != nil {
		return labels.Labels{}, err
	}
	all, err := p.readLabels(block, b)
	if err != nil {
		return labels.Labels{}, err
	}
	for range ref%seriesInBlock + 1 {
		if !all.next() {
			return labels.Labels{}, errContent
		}
	}
	var build labels.ScratchBuilder
	return all.labels(&build), nil
}
