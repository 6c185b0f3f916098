package part

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/value"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/column"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// levelSlices is the average number of slices in a level's windows from which the level is stored. With it, levels take
// 5 to 15% of the bytes of the slices (BenchmarkLevels, decision 11).
const levelSlices = 16

// windows holds the least and greatest number of each window of one level for one series. With them, max_over_time over
// a month reads a few numbers instead of every slice. Number i belongs to the window that ends at (first+i)*levelMs. A
// window without numbers is absent, like a slot without a slice.
type windows struct {
	first          int64
	least, greater []float64
	present        []uint64
	filled         int // number of windows with a number
	slices         int // how many numbers all windows have together
}

// windowOf returns the number of the window in which a slice ends. Window n is ((n-1)*levelMs, n*levelMs].
func windowOf(ms, levelMs int64) int64 {
	n := ms / levelMs
	if ms%levelMs > 0 {
		n++
	}
	return n
}

// foldable reports whether a series may have levels. A series with distributions or overlapping runs has none, because
// windows are of numbers, each of which must count once.
func foldable(runs []run.Run) bool {
	for i := range runs {
		if r := &runs[i]; r.Values == nil || len(r.Histograms) > 0 || i > 0 && r.FirstMs <= runs[i-1].LastMs() {
			return false
		}
	}
	return len(runs) > 0
}

// The shape of a series is stored in the same byte as its number of levels.
const (
	even  = 0x80 // all slices are numbers at one distance, and none is missing
	rises = 0x40 // even, and no number is less than the one before
)

// shapeOf returns the shape of a foldable series. If a series is even and rises, a rate needs no slices: the least
// number of a window is its first, and the greatest is its last (decision 15). A single missing slice or NaN makes that
// false, so the shape is then 0.
func shapeOf(runs []run.Run) byte {
	shape, last := byte(even|rises), math.Inf(-1)
	for i := range runs {
		r := &runs[i]
		if r.Present != nil || i > 0 && (r.StepMs != runs[0].StepMs || r.FirstMs != runs[i-1].LastMs()+r.StepMs) {
			return 0
		}
		for _, v := range r.Values {
			if math.IsNaN(v) {
				return 0
			}
			if v < last {
				shape = even
			}
			last = v
		}
	}
	return shape
}

// fold computes windows from runs. It returns false if there would be too many windows for a column, or if there are no
// numbers.
func (w *windows) fold(runs []run.Run, levelMs int64) bool {
	if !w.span(windowOf(runs[0].FirstMs, levelMs), windowOf(runs[len(runs)-1].LastMs(), levelMs)) {
		return false
	}
	for i := range runs {
		w.foldRun(&runs[i], levelMs)
	}
	return w.filled > 0
}

// foldFiner computes windows from those of a finer level. The result is the same as from the slices, because the least
// of several minima is the least of all. Each width is a multiple of the next finer one, so each finer window is in
// exactly one coarser window.
func (w *windows) foldFiner(finer *windows, finerMs, levelMs int64) {
	last := finer.first + int64(len(finer.least)) - 1
	w.span(windowOf(finer.first*finerMs, levelMs), windowOf(last*finerMs, levelMs))
	for i := range finer.least {
		if finer.present[i>>6]>>(i&63)&1 == 1 {
			at := int(windowOf((finer.first+int64(i))*finerMs, levelMs) - w.first)
			w.take(at, finer.least[i:i+1])
			w.takeGreatest(at, finer.greater[i])
		}
	}
	w.slices = finer.slices
}

// span resets w to the windows from first to last, without numbers. It returns false if a column cannot hold that many.
func (w *windows) span(first, last int64) bool {
	w.first, w.filled, w.slices = first, 0, 0
	if last-first >= column.MaxSlots || first < -maxWindow || last > maxWindow {
		return false
	}
	slots := int(last-first) + 1
	w.least, w.greater = slices.Grow(w.least[:0], slots)[:slots], slices.Grow(w.greater[:0], slots)[:slots]
	w.present = slices.Grow(w.present[:0], (slots+63)/64)[:(slots+63)/64]
	clear(w.present)
	return true
}

// maxWindow limits the numbers of windows, so that times computed from them cannot overflow.
const maxWindow = 1 << 40

// foldRun adds the numbers of a run, one window after the other. It splits a run without absent slots into whole
// windows, so that the inner loop needs no checks.
func (w *windows) foldRun(r *run.Run, levelMs int64) {
	for i := 0; i < len(r.Values); {
		n := windowOf(r.FirstMs+int64(i)*r.StepMs, levelMs)
		end := int(min((n*levelMs-r.FirstMs)/r.StepMs+1, int64(len(r.Values))))
		at := int(n - w.first)
		if r.Present == nil {
			w.take(at, r.Values[i:end])
			i = end
			continue
		}
		for ; i < end; i++ {
			if r.Has(i) {
				w.take(at, r.Values[i:i+1])
			}
		}
	}
}

// take adds numbers to a window as min_over_time and max_over_time do. Of equal numbers the first counts, and a NaN
// counts only while there is no other number. Folding windows therefore gives the same bits as folding their numbers.
// Gap markers are ignored.
func (w *windows) take(at int, values []float64) {
	bit := uint64(1) << (at & 63)
	some := w.present[at>>6]&bit != 0
	least, greatest := w.least[at], w.greater[at]
	for _, v := range values {
		if math.IsNaN(v) && value.IsStaleNaN(v) {
			continue
		}
		w.slices++
		if !some {
			some = true
			w.present[at>>6] |= bit
			w.filled++
			least, greatest = v, v
			continue
		}
		if v < least || math.IsNaN(least) {
			least = v
		}
		if v > greatest || math.IsNaN(greatest) {
			greatest = v
		}
	}
	w.least[at], w.greater[at] = least, greatest
}

// takeGreatest adds the greatest number of a finer window after take has added the least. It is not less than that, so
// it is only compared with the greatest.
func (w *windows) takeGreatest(at int, v float64) {
	if greatest := w.greater[at]; v > greatest || math.IsNaN(greatest) {
		w.greater[at] = v
	}
}

// cut removes the windows without numbers at both ends. At least one window must have a number. present is nil if all
// remaining windows have one.
func (w *windows) cut() (first int64, least, greatest []float64, present []uint64) {
	slots := len(w.least)
	from, to := 0, slots
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
	if w.filled == to-from {
		present = nil
	}
	return w.first + int64(from), w.least[from:to], w.greater[from:to], present
}

// levelWriter makes the levels of a block's series. It collects the columns of each level in a page, which is written
// after the pages of the slices.
type levelWriter struct {
	pages   [len(run.LevelsMs)][]byte // the columns of each level, coarsest level first
	pageMs  [len(run.LevelsMs)][2]int64
	before  [len(run.LevelsMs)]int64 // first window of the previous series
	index   []byte
	some    bool
	windows [len(run.LevelsMs)]windows // of the current series
}

// fold computes the windows of all levels up to the one that is likely the finest worth storing, and returns their
// number. Coarser levels are computed from finer ones, so it looks at each slice once.
func (l *levelWriter) fold(runs []run.Run) (levels int) {
	stepMs := runs[0].StepMs
	for i := range runs {
		stepMs = min(stepMs, runs[i].StepMs)
	}
	finest := len(run.LevelsMs) - 1
	for finest > 0 && run.LevelsMs[finest]/levelSlices < stepMs {
		finest--
	}
	for finest >= 0 && !l.windows[finest].fold(runs, run.LevelsMs[finest]) {
		finest--
	}
	for i := finest - 1; i >= 0; i-- {
		l.windows[i].foldFiner(&l.windows[i+1], run.LevelsMs[i+1], run.LevelsMs[i])
	}
	return finest + 1
}

// add adds a series' levels, coarsest first, as long as they are worth storing. A series with a level has all coarser
// ones, so that a reader only needs to know the finest.
func (l *levelWriter) add(encoder *column.Encoder, runs []run.Run) {
	at := len(l.index)
	l.index = append(l.index, 0)
	if !foldable(runs) {
		return
	}
	l.index[at] = shapeOf(runs)
	folded := l.fold(runs)
	for i, levelMs := range run.LevelsMs {
		w := &l.windows[i]
		if i >= folded && !w.fold(runs, levelMs) || w.slices < levelSlices*w.filled {
			return
		}
		first, least, greatest, present := w.cut()
		page := l.pages[i]
		start := len(page)
		page = encoder.Floats(page, least, present)
		middle := len(page)
		page = encoder.Floats(page, greatest, present)
		l.index[at]++
		l.index = binary.AppendVarint(l.index, first-l.before[i])
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

// reset empties the writer for the next block, and keeps its buffers.
func (l *levelWriter) reset() {
	for i := range l.pages {
		l.pages[i] = l.pages[i][:0]
	}
	l.index, l.some = l.index[:0], false
	l.before = [len(run.LevelsMs)]int64{}
}

// endLevels writes the pages of a block's levels after its other pages, and records their positions in the block. It
// ends the page of slices first, so that a page has either slices or one level.
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

// level is the position of one level of a series: two adjacent columns in one page, the least numbers and then the
// greatest.
type level struct {
	first           int64 // number of the first window
	slots           int   // 0 means that the series has no such level
	page            uint64
	offset          uint32
	least, greatest uint32 // lengths in bytes
}

// readLevels decodes the index of a block's levels. Level k of series i is all[i*len(run.LevelsMs)+k], where level 0 is
// the coarsest, and its shape is shapes[i]. Both are nil if the block has no levels. Format version 1 has no shapes, so
// all shapes are then 0.
func readLevels(b []byte, series int, pages uint64) (all []level, shapes []byte, err error) {
	if len(b) == 0 {
		return nil, nil, nil
	}
	r := varint.Of(b)
	firstPage := r.Uint()
	all, shapes = make([]level, series*len(run.LevelsMs)), make([]byte, series)
	var before [len(run.LevelsMs)]int64
	var offsets [len(run.LevelsMs)]uint64
	for i := range series {
		count := r.Bytes(1)
		if r.Err() != nil || int(count[0]&^(even|rises)) > len(run.LevelsMs) {
			return nil, nil, errContent
		}
		shapes[i] = count[0] & (even | rises)
		for k := range int(count[0] &^ (even | rises)) {
			first := before[k] + r.Int()
			slots, least, greatest := r.Length(column.MaxSlots), r.Length(maxEntryLength), r.Length(maxEntryLength)
			end := offsets[k] + uint64(least) + uint64(greatest)
			if r.Err() != nil || slots == 0 || first < -maxWindow || first > maxWindow || firstPage >= pages ||
				firstPage+uint64(k) >= pages || end > maxEntryLength {
				return nil, nil, errContent
			}
			all[i*len(run.LevelsMs)+k] = level{first, slots, firstPage + uint64(k), uint32(offsets[k]), uint32(least),
				uint32(greatest)}
			before[k], offsets[k] = first, end
		}
	}
	if r.Done() != nil {
		return nil, nil, errContent
	}
	return all, shapes, nil
}

// levelsOf returns the levels of series i of the block, coarsest first, or none if it has none. A series without a
// level has no finer ones.
func (c *columns) levelsOf(i int) []level {
	if c.levels == nil {
		return nil
	}
	all := c.levels[i*len(run.LevelsMs) : (i+1)*len(run.LevelsMs)]
	n := 0
	for n < len(all) && all[n].slots > 0 {
		n++
	}
	return all[:n]
}

// shapeOf returns the shape of series i of the block, or 0 if it is unknown.
func (c *columns) shapeOf(i int) byte {
	if c.shapes == nil {
		return 0
	}
	return c.shapes[i]
}

// Extent implements run.LevelReader. It only reads the index. Readers use it to decide whether they need the slices.
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
	if shape := c.shapeOf(int(ref % seriesInBlock)); shape&even != 0 && len(pieces) > 0 {
		e.StepMs, e.Rises = pieces[0].stepMs, shape&rises != 0
	}
	return e, nil
}

// columnsFor returns the columns of the block that contains a series.
func (p *Part) columnsFor(ref uint32) (*columns, error) {
	if uint64(ref) >= p.footer.series {
		return nil, fmt.Errorf("part %s: no series %d", p.name, ref)
	}
	return p.columnsOf(uint64(ref) / seriesInBlock)
}

// errNoLevel means that the part does not have a requested level. Readers call Extent first, so this is a bug.
var errNoLevel = errors.New("the series has no such level")

// Extremes implements run.LevelReader. If the level's page is damaged, it returns an error, and the caller reads the
// slices instead.
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

// levelDamage returns an error for a damaged page of a level. Nothing is lost, because other pages have the slices, so
// the error's labels are "nothing".
func (p *Part) levelDamage(err error, page uint64) error {
	if !isDamage(err) {
		return fmt.Errorf("part %s: %w", p.name, err)
	}
	return p.noted(&run.DamageError{File: p.name, What: fmt.Sprintf("index (level page %d)", page), Labels: "nothing",
		ToMs: -1, Err: err})
}

// windows decodes one column of a level: the greatest numbers if greatest is set, otherwise the least.
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
	r := run.Run{FirstMs: at.first * levelMs, StepMs: levelMs, Values: make([]float64, at.slots)}
	r.Present, err = column.Floats(page[from:to], r.Values)
	return r, err
}

// cutRun returns the part of a run of numbers within [minMs, maxMs], which may have no slots. It shares the values
// with r.
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
