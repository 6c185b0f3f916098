package part

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/value"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/column"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

// levelSlices is how many slices the windows of a level must hold on average, or the level is not kept: it would cost too much beside them.
const levelSlices = 16

// windows are the least and greatest numbers of a series' windows of one level; number i is of the window that ends at (first+i)*levelMs.
type windows struct {
	first          int64
	least, greater []float64
	present        []uint64
	held           int // windows with a number
	slices         int // numbers
}

// windowOf is the number of the window in which a slice ends: window n is ((n-1)*levelMs, n*levelMs].
func windowOf(ms, levelMs int64) int64 {
	n := ms / levelMs
	if ms%levelMs > 0 {
		n++
	}
	return n
}

// fold makes windows of runs of numbers; false where the runs are such that a series gets none: of distributions, in each other, or too long.
func (w *windows) fold(runs []run.Run, levelMs int64) bool {
	if len(runs) == 0 {
		return false
	}
	for i := range runs {
		if r := &runs[i]; r.Values == nil || len(r.Histograms) > 0 || i > 0 && r.FirstMs <= runs[i-1].LastMs() {
			return false
		}
	}
	first, last := windowOf(runs[0].FirstMs, levelMs), windowOf(runs[len(runs)-1].LastMs(), levelMs)
	if last-first >= column.MaxPlaces || first < -maxWindow || last > maxWindow {
		return false
	}
	places := int(last-first) + 1
	w.first, w.held, w.slices = first, 0, 0
	w.least, w.greater = sized(w.least, places), sized(w.greater, places)
	w.present = sized(w.present, (places+63)/64)
	clear(w.present)
	for i := range runs {
		w.foldRun(&runs[i], levelMs)
	}
	return w.held > 0
}

// maxWindow bounds the numbers of windows, so that their times can be reckoned with.
const maxWindow = 1 << 40

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// foldRun takes numbers as min_over_time and max_over_time do: the first of equals, and one that is not a number only while there is no
// other; so what is folded of windows is what is folded of their numbers, to the bit.
func (w *windows) foldRun(r *run.Run, levelMs int64) {
	at, endMs := 0, int64(math.MinInt64)
	for i, v := range r.Values {
		if !r.Has(i) || value.IsStaleNaN(v) {
			continue
		}
		if ms := r.FirstMs + int64(i)*r.StepMs; ms > endMs {
			n := windowOf(ms, levelMs)
			at, endMs = int(n-w.first), n*levelMs
		}
		w.slices++
		if bit := uint64(1) << (at & 63); w.present[at>>6]&bit == 0 {
			w.present[at>>6] |= bit
			w.held++
			w.least[at], w.greater[at] = v, v
			continue
		}
		if least := w.least[at]; v < least || math.IsNaN(least) {
			w.least[at] = v
		}
		if greatest := w.greater[at]; v > greatest || math.IsNaN(greatest) {
			w.greater[at] = v
		}
	}
}

// cut takes away the windows at both ends that hold no number; there is one that does.
func (w *windows) cut() (first int64, least, greatest []float64, present []uint64) {
	places := len(w.least)
	from, to := 0, places
	for w.present[from>>6]>>(from&63)&1 == 0 {
		from++
	}
	for w.present[(to-1)>>6]>>((to-1)&63)&1 == 0 {
		to--
	}
	present = w.present
	if from > 0 {
		present = copyBits(nil, w.present, from, to)
	}
	if w.held == to-from {
		present = nil
	}
	return w.first + int64(from), w.least[from:to], w.greater[from:to], present
}

// levelWriter makes the levels of a block's series.
type levelWriter struct {
	pages   [len(run.LevelsMs)][]byte // a level's columns, the coarsest level first
	pageMs  [len(run.LevelsMs)][2]int64
	before  [len(run.LevelsMs)]int64 // first window of the series before
	index   []byte
	some    bool
	windows windows
}

// add adds a series' levels, from the coarsest on, as long as they are worth their cost.
func (l *levelWriter) add(encoder *column.Encoder, runs []run.Run) {
	at := len(l.index)
	l.index = append(l.index, 0)
	for i, levelMs := range run.LevelsMs {
		if !l.windows.fold(runs, levelMs) || l.windows.slices < levelSlices*l.windows.held {
			return
		}
		first, least, greatest, present := l.windows.cut()
		page := l.pages[i]
		start := len(page)
		page = encoder.Floats(page, least, present)
		middle := len(page)
		page = encoder.Floats(page, greatest, present)
		l.index[at]++
		l.index = appendVarint(l.index, first-l.before[i])
		l.index = binary.AppendUvarint(l.index, uint64(len(least)))
		l.index = binary.AppendUvarint(l.index, uint64(middle-start))
		l.index = binary.AppendUvarint(l.index, uint64(len(page)-middle))
		fromMs, toMs := first*levelMs, (first+int64(len(least))-1)*levelMs
		if start == 0 {
			l.pageMs[i] = [2]int64{fromMs, toMs}
		}
		l.pageMs[i] = [2]int64{min(l.pageMs[i][0], fromMs), max(l.pageMs[i][1], toMs)}
		l.before[i], l.pages[i], l.some = first, page, true
	}
}

func (l *levelWriter) reset() {
	for i := range l.pages {
		l.pages[i] = l.pages[i][:0]
	}
	l.index, l.some = l.index[:0], false
	l.before = [len(run.LevelsMs)]int64{}
}

// endLevels writes the pages of a block's levels behind its other pages, and has the block say where they are.
func (w *Writer) endLevels() error {
	l := &w.levels
	defer l.reset()
	if !l.some {
		return nil
	}
	if err := w.endPage(); err != nil {
		return err
	}
	w.block.levels = binary.AppendUvarint(w.block.levels[:0], uint64(len(w.pages)))
	w.block.levels = append(w.block.levels, l.index...)
	for i, page := range l.pages {
		if len(page) == 0 {
			break
		}
		w.page, w.pageMs = append(w.page, page...), l.pageMs[i]
		if err := w.endPage(); err != nil {
			return err
		}
	}
	return nil
}

// level is where a series' columns of a level are.
type level struct {
	first           int64 // window
	places          int   // 0: the series has no such level
	page            uint64
	offset          uint32
	least, greatest uint32 // lengths
}

// readLevels reads what the writer's index says of a block's series: series i's level k, the coarsest being 0, is number
// i*len(run.LevelsMs)+k. None are nil.
func readLevels(b []byte, series int, pages uint64) ([]level, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := reader{b: b}
	firstPage := r.uvarint()
	all := make([]level, series*len(run.LevelsMs))
	var before [len(run.LevelsMs)]int64
	var offsets [len(run.LevelsMs)]uint64
	for i := range series {
		count := r.bytes(1)
		if r.failed || int(count[0]) > len(run.LevelsMs) {
			return nil, errContent
		}
		for k := range int(count[0]) {
			first := before[k] + r.varint()
			places, least, greatest := r.length(column.MaxPlaces), r.length(maxEntryLength), r.length(maxEntryLength)
			end := offsets[k] + uint64(least) + uint64(greatest)
			if r.failed || places == 0 || first < -maxWindow || first > maxWindow || firstPage >= pages || firstPage+uint64(k) >= pages || end > maxEntryLength {
				return nil, errContent
			}
			all[i*len(run.LevelsMs)+k] = level{first, places, firstPage + uint64(k), uint32(offsets[k]), uint32(least), uint32(greatest)}
			before[k], offsets[k] = first, end
		}
	}
	if r.failed || len(r.b) != 0 {
		return nil, errContent
	}
	return all, nil
}

// levelsOf are those of a series of the block, the coarsest first; nil where it has none.
func (c *columns) levelsOf(i int) []level {
	if c.levels == nil {
		return nil
	}
	all := c.levels[i*len(run.LevelsMs) : (i+1)*len(run.LevelsMs)]
	n := 0
	for n < len(all) && all[n].places > 0 {
		n++
	}
	return all[:n]
}

// Extent implements run.LevelReader.
func (p *Part) Extent(ref uint32) (run.Extent, error) {
	c, err := p.columnsFor(ref)
	if err != nil {
		return run.Extent{}, err
	}
	pieces, levels := c.of(int(ref%seriesInBlock)), c.levelsOf(int(ref%seriesInBlock))
	e := run.Extent{FirstMs: math.MaxInt64, LastMs: math.MinInt64}
	for i := range pieces {
		e.FirstMs, e.LastMs = min(e.FirstMs, pieces[i].firstMs), max(e.LastMs, pieces[i].lastMs())
	}
	if len(levels) > 0 {
		e.FinestMs = run.LevelsMs[len(levels)-1]
	}
	return e, nil
}

func (p *Part) columnsFor(ref uint32) (*columns, error) {
	if uint64(ref) >= p.footer.series {
		return nil, fmt.Errorf("part %s: no series %d", p.name, ref)
	}
	return p.columnsOf(uint64(ref) / seriesInBlock)
}

var errNoLevel = errors.New("the series has no such level")

// Extremes implements run.LevelReader.
func (p *Part) Extremes(ref uint32, levelMs int64, greatest bool, fromMs, toMs int64) (run.Run, error) {
	c, err := p.columnsFor(ref)
	if err != nil {
		return run.Run{}, err
	}
	for k, at := range c.levelsOf(int(ref % seriesInBlock)) {
		if run.LevelsMs[k] == levelMs {
			r, err := p.windows(&at, levelMs, greatest)
			if err != nil {
				return run.Run{}, p.levelDamage(err, at.page)
			}
			return cutRun(r, fromMs+1, toMs), nil
		}
	}
	return run.Run{}, fmt.Errorf("part %s: series %d: %w", p.name, ref, errNoLevel)
}

// levelDamage costs nothing but time: what is in a level is in other pages too.
func (p *Part) levelDamage(err error, page uint64) error {
	if !isDamage(err) {
		return fmt.Errorf("part %s: %w", p.name, err)
	}
	return &run.DamageError{File: p.name, What: fmt.Sprintf("index (level page %d)", page), Labels: "nothing", ToMs: -1, Err: err}
}

// windows decodes one column of a level.
func (p *Part) windows(at *level, levelMs int64, greatest bool) (run.Run, error) {
	page, err := p.page(at.page)
	if err != nil {
		return run.Run{}, err
	}
	from, to := uint64(at.offset), uint64(at.offset)+uint64(at.least)
	if greatest {
		from, to = to, to+uint64(at.greatest)
	}
	if to > uint64(len(page)) {
		return run.Run{}, errContent
	}
	r := run.Run{FirstMs: at.first * levelMs, StepMs: levelMs, Values: make([]float64, at.places)}
	r.Present, err = column.Floats(page[from:to], r.Values)
	return r, err
}

// cutRun is what of a run of numbers is within [minMs, maxMs]; without places where nothing is.
func cutRun(r run.Run, minMs, maxMs int64) run.Run {
	from, to := 0, len(r.Values)
	if minMs > r.FirstMs {
		from = int(min((minMs-r.FirstMs+r.StepMs-1)/r.StepMs, int64(to)))
	}
	if maxMs < r.FirstMs {
		to = from
	} else if away := (maxMs-r.FirstMs)/r.StepMs + 1; away < int64(to) {
		to = max(from, int(away))
	}
	r.FirstMs += int64(from) * r.StepMs
	if r.Values = r.Values[from:to]; r.Present != nil {
		r.Present = copyBits(nil, r.Present, from, to)
	}
	return r
}
