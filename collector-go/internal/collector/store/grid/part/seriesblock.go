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

// piece describes a column: where it is in the file, and which places it has. A series has several columns if it has
// many slices, if its interval changed, or if it has numbers and distributions.
type piece struct {
	firstMs, stepMs int64
	places          int
	distributions   bool
	page            uint64
	offset, length  uint32 // in the page
}

// lastMs is the end of the last place.
func (p *piece) lastMs() int64 { return p.firstMs + int64(p.places-1)*p.stepMs }

// Flags of a column in a series block.
const (
	asPredicted   = 1
	distributions = 2
	beginsPage    = 4
)

// grid is what can be predicted about a column from the series before it. Series of one worker report at the same
// times, so most columns are described by the single fact that the prediction holds: one byte of flags and the length.
type grid struct {
	firstMs, stepMs int64
	places          int
}

// predict is the grid of column number i of a series whose columns so far are in now, after a series with those of
// before. The first guess is the same column of the series before. For a further column it is the place where the
// previous column ended. Writer and reader call the same function, so they cannot disagree.
func predict(before, now []grid, i int) grid {
	switch {
	case i < len(before):
		return before[i]
	case i > 0:
		g := now[i-1]
		g.firstMs += int64(g.places) * g.stepMs
		return g
	}
	return grid{0, 1, 1}
}

// blockWriter makes a series block: the columns of up to 64 series, followed by their labels. Columns come first,
// because reading a series that is already known needs no labels.
type blockWriter struct {
	labels       []labels.Labels
	columns      []byte
	levels       []byte
	before, now  []grid
	firstPage    uint64
	firstOffset  uint32
	page         uint64 // of the newest column
	begun        bool
	minMs, maxMs int64
}

// add adds a series with its columns. Only what the prediction misses is written in full.
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
		g := grid{p.firstMs, p.stepMs, p.places}
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
			w.columns = binary.AppendUvarint(w.columns, uint64(g.places))
		}
		w.columns = binary.AppendUvarint(w.columns, uint64(p.length))
	}
	w.before, w.now = w.now, w.before
	w.labels = append(w.labels, l)
}

// appendColumns writes the block's first part; its labels follow. The lengths stand in front, so that a reader of
// labels skips the columns and the other way round.
func (w *blockWriter) appendColumns(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(w.labels)))
	dst = binary.AppendUvarint(dst, uint64(len(w.columns)))
	dst = binary.AppendUvarint(dst, w.firstPage)
	dst = binary.AppendUvarint(dst, uint64(w.firstOffset))
	dst = append(dst, w.columns...)
	dst = binary.AppendUvarint(dst, uint64(len(w.levels)))
	return append(dst, w.levels...)
}

// reset empties the writer and keeps its buffers. Labels are cleared, so that it keeps none of them alive.
func (w *blockWriter) reset() {
	clear(w.labels)
	*w = blockWriter{labels: w.labels[:0], columns: w.columns[:0], levels: w.levels[:0], before: w.before[:0],
		now: w.now[:0]}
}

// appendLabels writes the labels of a block's series. Each text stands once in a sorted dictionary, and a series is
// written as the values that differ from the series before it. Series are in the order of their labels, so that often
// one value differs.
func appendLabels(dst []byte, all []labels.Labels) []byte {
	numbers := make(map[string]uint32, 4*len(all)) // in the order in which texts come
	var texts []string
	var used []uint32 // by the series, one after the other
	note := func(s string) {
		n, known := numbers[s]
		if !known {
			n = uint32(len(texts))
			numbers[s] = n
			texts = append(texts, s)
		}
		used = append(used, n)
	}
	changes := make([]uint64, len(all)) // 0: all are written
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
	dst, places := appendDictionary(dst, texts)
	for i, changed := range changes {
		n := bits.OnesCount64(changed)
		dst = binary.AppendUvarint(dst, changed)
		if changed == 0 {
			dst = binary.AppendUvarint(dst, uint64(counts[i]))
			n = 2 * counts[i]
		}
		for _, number := range used[:n] {
			dst = binary.AppendUvarint(dst, uint64(places[number]))
		}
		used = used[n:]
	}
	return dst
}

// appendDictionary writes the texts in order, and returns the place of each. Order lets a reader find a name by
// halving, and lets neighbours share their beginnings.
func appendDictionary(dst []byte, texts []string) (_ []byte, places []uint32) {
	order := make([]uint32, len(texts))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(texts[a], texts[b]) })
	dst = binary.AppendUvarint(dst, uint64(len(texts)))
	places = make([]uint32, len(texts))
	last := ""
	for i, number := range order {
		dst = appendShared(dst, last, texts[number])
		last = texts[number]
		places[number] = uint32(i)
	}
	return dst, places
}

// changedValues has a bit for each label whose value is another than before. It is 0 where the names differ too, or
// where there are more labels than bits: then all labels are written.
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

// columns lists where the columns of a block's series are. Those of series i are pieces[starts[i]:starts[i+1]]. It is
// decoded once for a block and kept for the next series of it.
type columns struct {
	pieces []piece
	starts []int32
	levels []level // see readLevels
	shapes []byte
}

// of returns the columns of series i of the block.
func (c *columns) of(i int) []piece { return c.pieces[c.starts[i]:c.starts[i+1]] }

// readColumns reads a block's first part. series is how many it must have, pages how many the file has. Every number is
// checked against a bound, since later code computes with them and indexes pages by them.
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
				g.places = r.Length(column.MaxPlaces)
			}
			if flags[0]&beginsPage != 0 {
				page++
				offset = 0
			}
			length := uint64(r.Length(maxEntryLength))
			last := g.firstMs + int64(g.places)*g.stepMs // of what cannot be is less than the first
			if r.Err() != nil || g.stepMs <= 0 || g.stepMs > 1<<48 || g.places == 0 || last < g.firstMs ||
				page >= pages || offset+length > maxEntryLength {
				return nil, errContent
			}
			now = append(now, g)
			c.pieces = append(c.pieces, piece{g.firstMs, g.stepMs, g.places, flags[0]&distributions != 0, page,
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

// labelReader reads the labels of a block's series one after the other. Names and values are numbers into texts, the
// block's dictionary. Matchers compare these numbers, and strings are built only for series that match.
type labelReader struct {
	r     varint.Reader
	texts []string // ascending
	left  int
	now   [][2]uint32
}

// labelPart is the bytes of a block that say what labels its series have: its dictionary, and what follows. Two blocks
// with equal bytes have the same series, which a merge compares before it decodes either.
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

// readLabels reads the dictionary of a block. The texts of all series are parts of one string, so that a block costs
// one allocation for its texts instead of one for each.
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

// maxArena bounds the decoded texts of a block, in bytes. Texts share beginnings, so a small malformed block could
// otherwise ask for a huge amount of memory.
const maxArena = 16 << 20

// maxLabels bounds the labels of a series when reading, for the same reason.
const maxLabels = 1 << 12

// next moves to the next series. It returns false after the last, and where the bytes are malformed, which failed
// reports. Labels that did not change stay as they were in now, so the series must be read in order.
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

// text reads the number of a text. A number beyond the dictionary is damage, and not an index.
func (l *labelReader) text() uint32 {
	n := l.r.Uint()
	if n >= uint64(len(l.texts)) {
		l.r.Fail(errContent)
		return 0
	}
	return uint32(n)
}

// failed reports whether bytes are missing, make no sense or are left over.
func (l *labelReader) failed() bool { return l.r.Err() != nil || l.left == 0 && l.r.Len() != 0 }

// labels builds the present series' labels.
func (l *labelReader) labels(b *labels.ScratchBuilder) labels.Labels {
	b.Reset()
	for _, pair := range l.now {
		b.Add(l.texts[pair[0]], l.texts[pair[1]])
	}
	return b.Labels()
}
