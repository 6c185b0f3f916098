package part

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// span is a range of series blocks, both ends included. Series are sorted by labels, so the blocks with a value are
// often adjacent.
type span struct{ from, to uint64 }

// postings collects in which series blocks each label value occurs. It refers to blocks of 64 series instead of series,
// which keeps the index small. Readers compare the labels in the blocks, so a superfluous entry does not make an answer
// wrong. A missing one would.
type postings struct {
	names  map[string]map[string]*[]span
	before labels.Labels
	block  uint64 // the block of before
	some   bool
}

// add adds a series of a block. Blocks must ascend. It only adds labels that differ from those of the previous series
// in the block, since most labels repeat.
func (p *postings) add(block uint64, l labels.Labels) {
	if p.names == nil {
		p.names = map[string]map[string]*[]span{}
	}
	l.Range(func(one labels.Label) {
		if p.some && p.block == block && p.before.Get(one.Name) == one.Value {
			return // most labels equal those of the previous series
		}
		p.note(block, one)
	})
	p.before, p.block, p.some = l, block, true
}

// note adds a block to the spans of a value. It extends the last span if the block is adjacent. It clones names and
// values, so that the index does not keep the labels of series in memory.
func (p *postings) note(block uint64, one labels.Label) {
	values := p.names[one.Name]
	if values == nil {
		values = map[string]*[]span{}
		p.names[strings.Clone(one.Name)] = values
	}
	spans := values[one.Value]
	if spans == nil {
		values[strings.Clone(one.Value)] = &[]span{{block, block}}
		return
	}
	switch last := &(*spans)[len(*spans)-1]; block - last.to {
	case 0:
	case 1:
		last.to = block
	default:
		*spans = append(*spans, span{block, block})
	}
}

// write returns the encoded values blocks, in order, and the names block.
func (p *postings) write() (lists [][]byte, names []byte) {
	names = binary.AppendUvarint(nil, uint64(len(p.names)))
	for _, name := range slices.Sorted(maps.Keys(p.names)) {
		values := p.names[name]
		blocks := writeValues(values)
		lists = append(lists, blocks...)
		names = binary.AppendUvarint(names, uint64(len(name)))
		names = append(names, name...)
		names = binary.AppendUvarint(names, uint64(len(blocks)))
		names = binary.AppendUvarint(names, uint64(len(values)))
	}
	return lists, wrap(nil, names)
}

// writeValues encodes the values of one name in blocks of about 4 KiB. Each block begins without a shared prefix, so
// that it can be read alone.
func writeValues(values map[string]*[]span) (blocks [][]byte) {
	var body []byte
	last, count := "", uint64(0)
	end := func() {
		if count > 0 {
			blocks = append(blocks, wrap(nil, append(binary.AppendUvarint(nil, count), body...)))
			body, last, count = body[:0], "", 0
		}
	}
	for _, value := range slices.Sorted(maps.Keys(values)) {
		body = appendShared(body, last, value)
		last = value
		count++
		spans := *values[value]
		body = binary.AppendUvarint(body, uint64(len(spans)))
		next := uint64(0)
		for _, s := range spans {
			body = binary.AppendUvarint(body, s.from-next)
			body = binary.AppendUvarint(body, s.to-s.from)
			next = s.to + 1
		}
		if len(body) >= valuesBytes {
			end()
		}
	}
	end()
	return blocks
}

// nameEntry is a label name and the position of its values. The values blocks of a name are adjacent, so the first one
// and their number suffice.
type nameEntry struct {
	name   string
	first  uint64 // index of its first values block among all values blocks
	blocks uint64
}

// readNames decodes the names block. Names must ascend, and their numbers of values blocks must add up to lists. A
// damaged block is therefore not accepted as an index of fewer values.
func readNames(b []byte, lists uint64) ([]nameEntry, error) {
	r := varint.Of(b)
	all := make([]nameEntry, r.Length(len(b)/3))
	first := uint64(0)
	for i := range all {
		name := string(r.Sized())
		blocks := r.Uint()
		r.Uint()
		if r.Err() != nil || blocks > lists-first || i > 0 && name <= all[i-1].name {
			return nil, errContent
		}
		all[i] = nameEntry{name, first, blocks}
		first += blocks
	}
	if r.Done() != nil || first != lists {
		return nil, errContent
	}
	return all, nil
}

// eachValue decodes a values block and calls fn for each value until fn returns false. The value is valid until the
// next call. spans reads the value's ranges of series blocks; fn need not read them.
func eachValue(b []byte, fn func(value []byte, spans varint.Reader) (more bool)) error {
	r := varint.Of(b)
	var value []byte
	for range r.Length(len(b) / 3) {
		next := readShared(&r, value, 0)
		if r.Err() != nil {
			return errContent
		}
		value = append(value[:0], next[len(value):]...)
		spans := r
		for range r.Length(r.Len() / 2) {
			r.Uint()
			r.Uint()
		}
		if r.Err() != nil {
			return errContent
		}
		if !fn(value, spans) {
			return nil
		}
	}
	if r.Len() != 0 {
		return errContent
	}
	return nil
}

// blockSet is a set of series blocks, with one bit for each.
type blockSet []uint64

// newBlockSet returns an empty set for a part with a number of series blocks.
func newBlockSet(blocks uint64) blockSet { return make(blockSet, (blocks+63)/64) }

// fill adds all blocks. Bits after the last block stay 0, since walk visits every bit that is set.
func (s blockSet) fill(blocks uint64) {
	for i := range s {
		s[i] = ^uint64(0)
	}
	if n := blocks & 63; n > 0 {
		s[len(s)-1] = 1<<n - 1
	}
}

// addSpans adds the blocks in a value's spans. It returns an error for a span with blocks that do not exist.
func (s blockSet) addSpans(spans varint.Reader, blocks uint64) {
	next := uint64(0)
	for range spans.Length(spans.Len() / 2) {
		from := next + spans.Uint()
		to := from + spans.Uint()
		if from < next || to < from || to >= blocks {
			return
		}
		for b := from; b <= to; {
			if b&63 == 0 && to-b >= 63 {
				s[b>>6] = ^uint64(0)
				b += 64
				continue
			}
			s[b>>6] |= 1 << (b & 63)
			b++
		}
		next = to + 1
	}
}
