package part

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/column"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// piece describes a column: its position in the file, and its slots. A series has several columns if it has many
// slices, if its interval changed, or if it has numbers and distributions.
type piece struct {
	firstMs, stepMs int64
	slots           int
	distributions   bool
	page            uint64
	offset, length  uint32 // within the page
}

// lastMs returns the end of the last slot.
func (p *piece) lastMs() int64 { return p.firstMs + int64(p.slots-1)*p.stepMs }

// These flags describe a column in a series block.
const (
	asPredicted   = 1
	distributions = 2
	beginsPage    = 4
)

// grid is what can be predicted about a column from the previous series. Series of one worker report at the same times,
// so the prediction is true for most columns. Such a column is described by one byte of flags and its length.
type grid struct {
	firstMs, stepMs int64
	slots           int
}

// predict predicts the grid of column number i of a series. before are the grids of the previous series, and now those
// of the series' earlier columns. It predicts the grid of the same column in before. If there is none, it predicts that
// the column begins where the previous column ended. Writer and reader use this function, so they always agree.
func predict(before, now []grid, i int) grid {
	switch {
	case i < len(before):
		return before[i]
	case i > 0:
		g := now[i-1]
		g.firstMs += int64(g.slots) * g.stepMs
		return g
	}
	return grid{0, 1, 1}
}

// blockWriter makes a series block: the columns of up to 64 series, followed by their labels. Columns come first,
// because a reader that already knows the series needs no labels.
type blockWriter struct {
	labels       []labels.Labels
	columns      []byte
	levels       []byte
	before, now  []grid
	firstPage    uint64
	firstOffset  uint32
	page         uint64 // page of the newest column
	begun        bool
	minMs, maxMs int64
}

// add adds a series with its columns. It only writes what differs from the prediction.
func (w *blockWriter) add(l labels.Labels, pieces []piece) {
	w.columns = binary.AppendUvarint(w.columns, uint64(len(pieces)))
	w.now = w.now[:0]
	for i := range pieces {
		p := &pieces[i]
		if !w.begun {
			w.begun, w.firstPage, w.firstOffset, w.page = true, p.page, p.offset, p.page
			w.minMs, w.maxMs = p.firstMs, p.lastMs()
		}
		w.minMs, w.maxMs = min(w.minMs, p.firstMs), max(w.maxMs, p.lastMs())
		g := grid{p.firstMs, p.stepMs, p.slots}
		predicted := predict(w.before, w.now, i)
		w.now = append(w.now, g)
		flags := byte(0)
		if g == predicted {
			flags |= asPredicted
		}
		if p.distributions {
			flags |= distributions
		}
		if p.page != w.page {
			flags |= beginsPage
			w.page = p.page
		}
		w.columns = append(w.columns, flags)
		if g != predicted {
			w.columns = binary.AppendVarint(w.columns, g.firstMs-predicted.firstMs)
			w.columns = binary.AppendUvarint(w.columns, uint64(g.stepMs))
			w.columns = binary.AppendUvarint(w.columns, uint64(g.slots))
		}
		w.columns = binary.AppendUvarint(w.columns, uint64(p.length))
	}
	w.before, w.now = w.now, w.before
	w.labels = append(w.labels, l)
}

// appendColumns writes the block's first section, which the labels follow. The lengths come first, so that a reader of
// labels can skip the columns, and vice versa.
func (w *blockWriter) appendColumns(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(w.labels)))
	dst = binary.AppendUvarint(dst, uint64(len(w.columns)))
	dst = binary.AppendUvarint(dst, w.firstPage)
	dst = binary.AppendUvarint(dst, uint64(w.firstOffset))
	dst = append(dst, w.columns...)
	dst = binary.AppendUvarint(dst, uint64(len(w.levels)))
	return append(dst, w.levels...)
}

// reset empties the writer and keeps its buffers. It clears the labels, so that none of them stay in memory.
func (w *blockWriter) reset() {
	clear(w.labels)
	*w = blockWriter{labels: w.labels[:0], columns: w.columns[:0], levels: w.levels[:0], before: w.before[:0],
		now: w.now[:0]}
}

// appendLabels writes the labels of a block's series. Each text is written once, in a sorted dictionary. A series is
// written as the values that differ from the previous series. Series are sorted by labels, so often only one value
// differs.
func appendLabels(dst []byte, all []labels.Labels) []byte {
	numbers := make(map[string]uint32, 4*len(all)) // number of each text, in the order in which they occur
	var texts []string
	var used []uint32 // numbers of the texts of all series, one series after the other
	note := func(s string) {
		n, known := numbers[s]
		if !known {
			n = uint32(len(texts))
			numbers[s] = n
			texts = append(texts, s)
		}
		used = append(used, n)
	}
	changes := make([]uint64, len(all)) // 0 means that all labels are written
	counts := make([]int, len(all))
	var before, now []labels.Label
	for i, l := range all {
		before, now = now, before[:0]
		l.Range(func(l labels.Label) { now = append(now, l) })
		counts[i] = len(now)
		if changes[i] = changedValues(before, now); changes[i] != 0 {
			for left := changes[i]; left != 0; left &= left - 1 {
				note(now[bits.TrailingZeros64(left)].Value)
			}
			continue
		}
		for _, one := range now {
			note(one.Name)
			note(one.Value)
		}
	}
	dst, slots := appendDictionary(dst, texts)
	for i, changed := range changes {
		n := bits.OnesCount64(changed)
		dst = binary.AppendUvarint(dst, changed)
		if changed == 0 {
			dst = binary.AppendUvarint(dst, uint64(counts[i]))
			n = 2 * counts[i]
		}
		for _, number := range used[:n] {
			dst = binary.AppendUvarint(dst, uint64(slots[number]))
		}
		used = used[n:]
	}
	return dst
}

// appendDictionary writes the texts in sorted order, and returns the index of each. The order lets a reader find a name
// by binary search, and neighbours share prefixes.
func appendDictionary(dst []byte, texts []string) (_ []byte, slots []uint32) {
	order := make([]uint32, len(texts))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(texts[a], texts[b]) })
	dst = binary.AppendUvarint(dst, uint64(len(texts)))
	slots = make([]uint32, len(texts))
	last := ""
	for i, number := range order {
		dst = appendShared(dst, last, texts[number])
		last = texts[number]
		slots[number] = uint32(i)
	}
	return dst, slots
}

// changedValues returns a bit for each label whose value differs from before. It returns 0, so that all labels are
// written, if the names differ or if there are too many labels for the bits.
func changedValues(before, now []labels.Label) (changed uint64) {
	if len(before) != len(now) || len(now) > 63 {
		return 0
	}
	for i := range now {
		if before[i].Name != now[i].Name {
			return 0
		}
		if before[i].Value != now[i].Value {
			changed |= 1 << i
		}
	}
	return changed
}

// columns has the positions of the columns of a block's series. Those of series i are pieces[starts[i]:starts[i+1]]. It
// is decoded once per block and cached.
type columns struct {
	pieces []piece
	starts []int32
	levels []level // see readLevels
	shapes []byte
}

// of returns the columns of series i of the block.
func (c *columns) of(i int) []piece { return c.pieces[c.starts[i]:c.starts[i+1]] }

// readColumns decodes a block's first section. series is the number of series that it must have, and pages the number
// of pages in the file. Every number is checked against a bound, since later code uses them in arithmetic and as
// indices.
func readColumns(b []byte, series int, pages uint64) (*columns, error) {
	r := varint.Of(b)
	n := r.Length(seriesInBlock)
	size := r.Length(r.Len())
	page := r.Uint()
	offset := uint64(r.Length(maxEntryLength))
	columnBytes, levels := r.Bytes(size), r.Sized()
	if r.Err() != nil || n != series {
		return nil, errContent
	}
	levelled, shapes, err := readLevels(levels, series, pages)
	if err != nil {
		return nil, err
	}
	r = varint.Of(columnBytes)
	c := &columns{levels: levelled, shapes: shapes, pieces: make([]piece, 0, n), starts: make([]int32, 1, n+1)}
	var before, now []grid
	for range n {
		count := r.Length(r.Len() / 2)
		now = now[:0]
		for i := range count {
			flags := r.Bytes(1)
			if r.Err() != nil || flags[0] > asPredicted|distributions|beginsPage {
				return nil, errContent
			}
			g := predict(before, now, i)
			if flags[0]&asPredicted == 0 {
				g.firstMs += r.Int()
				g.stepMs = int64(r.Uint())
				g.slots = r.Length(column.MaxSlots)
			}
			if flags[0]&beginsPage != 0 {
				page++
				offset = 0
			}
			length := uint64(r.Length(maxEntryLength))
			last := g.firstMs + int64(g.slots)*g.stepMs // if it overflows, it is less than the first
			if r.Err() != nil || g.stepMs <= 0 || g.stepMs > 1<<48 || g.slots == 0 || last < g.firstMs ||
				page >= pages || offset+length > maxEntryLength {
				return nil, errContent
			}
			now = append(now, g)
			c.pieces = append(c.pieces, piece{g.firstMs, g.stepMs, g.slots, flags[0]&distributions != 0, page,
				uint32(offset), uint32(length)})
			offset += length
		}
		before, now = now, before
		c.starts = append(c.starts, int32(len(c.pieces)))
	}
	if r.Done() != nil {
		return nil, errContent
	}
	return c, nil
}

// labelReader reads the labels of a block's series one after the other. Names and values are indices into texts, the
// block's dictionary. Matchers compare these numbers, and strings are only built for series that match.
type labelReader struct {
	r     varint.Reader
	texts []string // sorted
	left  int
	now   [][2]uint32
}

// labelPart returns the section of a block that determines the labels of its series. If it is equal in two blocks, they
// have the same series. A merge compares it before it decodes either.
func labelPart(b []byte, series int) ([]byte, error) {
	r := varint.Of(b)
	n := r.Length(seriesInBlock)
	size := r.Length(r.Len())
	r.Uint()
	r.Uint()
	r.Bytes(size)
	r.Sized()
	if r.Err() != nil || n != series {
		return nil, errContent
	}
	return r.Rest(), nil
}

// readLabels decodes the dictionary of a block. All texts are substrings of one string, so that a block needs one
// allocation for its texts instead of one for each.
func readLabels(b []byte, series int) (*labelReader, error) {
	b, err := labelPart(b, series)
	if err != nil {
		return nil, err
	}
	r := varint.Of(b)
	count := r.Length(r.Len() / 2)
	if r.Err() != nil {
		return nil, errContent
	}
	ends := make([]int, count)
	arena, before := make([]byte, 0, 2*r.Len()), 0
	for i := range ends {
		start := len(arena)
		if arena = readShared(&r, arena, before); r.Err() != nil || len(arena) > maxArena {
			return nil, errContent
		}
		before, ends[i] = start, len(arena)
	}
	all, start := string(arena), 0
	texts := make([]string, count)
	for i, end := range ends {
		texts[i] = all[start:end]
		start = end
	}
	return &labelReader{r: r, texts: texts, left: series}, nil
}

// maxArena limits the decoded texts of a block, in bytes. Texts share prefixes, so a small malformed block could
// otherwise reserve a huge amount of memory.
const maxArena = 16 << 20

// maxLabels limits the number of labels that a series may have when it is read, for the same reason.
const maxLabels = 1 << 12

// next moves to the next series. It returns false after the last one and for malformed bytes, which failed reports.
// Labels that did not change keep their entries in now, so all series must be read in order.
func (l *labelReader) next() bool {
	if l.left == 0 {
		return false
	}
	l.left--
	if changed := l.r.Uint(); changed != 0 {
		if bits.Len64(changed) > len(l.now) {
			l.r.Fail(errContent)
		}
		for ; changed != 0 && l.r.Err() == nil; changed &= changed - 1 {
			l.now[bits.TrailingZeros64(changed)][1] = l.text()
		}
		return l.r.Err() == nil
	}
	l.now = l.now[:0]
	for range l.r.Length(min(l.r.Len()/2, maxLabels)) {
		l.now = append(l.now, [2]uint32{l.text(), l.text()})
	}
	return l.r.Err() == nil
}

// text reads the number of a text. A number outside of the dictionary is damage.
func (l *labelReader) text() uint32 {
	n := l.r.Uint()
	if n >= uint64(len(l.texts)) {
		l.r.Fail(errContent)
		return 0
	}
	return uint32(n)
}

// failed reports whether bytes are missing, invalid or left over.
func (l *labelReader) failed() bool { return l.r.Err() != nil || l.left == 0 && l.r.Len() != 0 }

// labels builds the labels of the current series.
func (l *labelReader) labels(b *labels.ScratchBuilder) labels.Labels {
	b.Reset()
	for _, pair := range l.now {
		b.Add(l.texts[pair[0]], l.texts[pair[1]])
	}
	return b.Labels()
}
