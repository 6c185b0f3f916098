package part

import (
	"cmp"
	"context"
	"errors"
	"math/bits"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// manyBlocks is the number of series blocks above which trying all values of a label is cheaper than reading the
// blocks. If fewer blocks are left, their labels are compared directly.
const manyBlocks = 128

// Select implements run.Source. If some data is damaged, it returns a *run.DamageError together with all series that it
// could read. Found series are read through a Part of their own, which only shares the file. If queries shared caches,
// they would evict each other's pages (TestQueriesDoNotTakeEachOthersPages).
func (p *Part) Select(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) ([]run.Found, error) {
	var found []run.Found
	var build labels.ScratchBuilder
	reader := &Part{opened: p.opened}
	err := p.walk(ctx, minMs, maxMs, matchers, func(ref uint32, l *labelReader) {
		found = append(found, run.Found{Labels: l.labels(&build), Reader: reader, Ref: ref})
	})
	return found, err
}

// LabelNames implements run.Source. Without matchers it uses the names block, which has all names, independent of time.
// If some data is damaged, it returns a *run.DamageError together with all that it could read.
func (p *Part) LabelNames(ctx context.Context, matchers []*labels.Matcher) ([]string, error) {
	if len(matchers) == 0 {
		if names, err := p.labelNames(); err == nil {
			all := make([]string, len(names))
			for i, n := range names {
				all[i] = n.name
			}
			return all, nil
		} else if !isDamage(err) {
			return nil, err
		}
	}
	return p.collect(ctx, matchers, func(l *labelReader, add func(string)) {
		for _, pair := range l.now {
			add(l.texts[pair[0]])
		}
	})
}

// LabelValues implements run.Source. Without matchers it uses the values blocks of the name. If some data is damaged,
// it returns a *run.DamageError together with all that it could read.
func (p *Part) LabelValues(ctx context.Context, name string, matchers []*labels.Matcher) ([]string, error) {
	if len(matchers) == 0 {
		var all []string
		err := p.eachValueOf(name, "", func(value []byte, _ varint.Reader) bool {
			all = append(all, string(value))
			return true
		})
		if err == nil || !isDamage(err) {
			return all, err
		}
	}
	return p.collect(ctx, matchers, func(l *labelReader, add func(string)) {
		for _, pair := range l.now {
			if l.texts[pair[0]] == name {
				add(l.texts[pair[1]])
			}
		}
	})
}

// collect returns what of adds for all series that match, sorted and without duplicates. It is slow, because it reads
// the series. It is used if there are matchers or if the index of values is damaged.
func (p *Part) collect(ctx context.Context, matchers []*labels.Matcher, of func(l *labelReader, add func(string))) (
	[]string, error) {
	known := map[string]bool{}
	var all []string
	err := p.walk(ctx, p.footer.minMs, p.footer.maxMs, matchers, func(_ uint32, l *labelReader) {
		of(l, func(text string) {
			if !known[text] {
				text = strings.Clone(text)
				known[text] = true
				all = append(all, text)
			}
		})
	})
	slices.Sort(all)
	return all, err
}

// walk calls fn, in order, for all series that the matchers match and that have columns within [minMs, maxMs]. It
// continues after damage and returns the first damage at the end. It checks before each block whether the query has
// ended.
func (p *Part) walk(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher,
	fn func(ref uint32, l *labelReader)) error {
	if minMs > maxMs || p.footer.slices == 0 || minMs > p.footer.maxMs || maxMs < p.footer.minMs {
		return nil
	}
	blocks, err := p.candidates(matchers)
	if err != nil {
		return err
	}
	var damage error
	for i, word := range blocks {
		for ; word != 0; word &= word - 1 {
			if err := ctx.Err(); err != nil {
				return err
			}
			block := uint64(i)<<6 + uint64(bits.TrailingZeros64(word))
			if err := keepFirst(&damage, p.walkBlock(block, minMs, maxMs, matchers, fn)); err != nil {
				return err
			}
		}
	}
	return damage
}

// keepFirst stores the first damage in *damage, so that a walk can continue. It returns any other error.
func keepFirst(damage *error, err error) error {
	if _, is := errors.AsType[*run.DamageError](err); !is {
		return err
	}
	*damage = cmp.Or(*damage, err)
	return nil
}

// walkBlock calls fn for the series of one block that match and have columns within [minMs, maxMs]. The directory has
// the time range of each block, so blocks outside of the range are not read.
func (p *Part) walkBlock(block uint64, minMs, maxMs int64, matchers []*labels.Matcher,
	fn func(ref uint32, l *labelReader)) error {
	e, err := p.entry(p.footer.pages + block)
	if err != nil || e.maxMs < minMs || e.minMs > maxMs {
		return err
	}
	b, err := p.block(block)
	if err != nil {
		return err
	}
	all, err := p.readLabels(block, b)
	if err != nil {
		return err
	}
	var slots *columns // read only if some series may have no columns in the range
	if e.minMs < minMs || e.maxMs > maxMs {
		if slots, err = p.columnsOf(block); err != nil {
			return err
		}
	}
	match := newMatching(matchers, all.texts)
	for i := 0; all.next(); i++ {
		if match.all(all.now) && (slots == nil || anyWithin(slots.of(i), minMs, maxMs)) {
			fn(uint32(block*seriesInBlock)+uint32(i), all)
		}
	}
	if all.failed() {
		return p.blockDamage(errContent, block, e)
	}
	return nil
}

// anyWithin reports whether one of the columns may have slices within [minMs, maxMs].
func anyWithin(pieces []piece, minMs, maxMs int64) bool {
	for i := range pieces {
		if pieces[i].firstMs <= maxMs && pieces[i].lastMs() >= minMs {
			return true
		}
	}
	return false
}

// matching compares the labels of a block's series with matchers. The values of a block are numbered, so each value is
// compared once, however many series have it.
type matching []matchingOne

// matchingOne is the state of one matcher for one block.
type matchingOne struct {
	matcher *labels.Matcher
	name    uint32 // number of its label name; absent if the block does not have the name
	empty   bool   // whether it matches series without the label
	texts   []string
	known   []int8 // by number of the value: 1 matches, -1 does not, 0 is unknown
}

// absent stands for a name that the block's dictionary does not have.
const absent = ^uint32(0)

// newMatching looks up each matcher's label name in a block's dictionary. If the block does not have the name, the
// matcher gives the same result for all its series.
func newMatching(matchers []*labels.Matcher, texts []string) matching {
	all := make(matching, len(matchers))
	for i, m := range matchers {
		all[i] = matchingOne{matcher: m, name: absent, empty: m.Matches(""), texts: texts}
		if at, is := slices.BinarySearch(texts, m.Name); is {
			all[i].name = uint32(at)
			all[i].known = make([]int8, len(texts))
		}
	}
	return all
}

// all reports whether every matcher matches a series, whose names and values are given as numbers.
func (m matching) all(now [][2]uint32) bool {
	for i := range m {
		if !m[i].is(now) {
			return false
		}
	}
	return true
}

// is reports whether the matcher matches a series. It evaluates a regular expression once for each value of the block.
func (m *matchingOne) is(now [][2]uint32) bool {
	if m.name == absent {
		return m.empty
	}
	for _, pair := range now {
		if pair[0] != m.name {
			continue
		}
		if m.known[pair[1]] == 0 {
			m.known[pair[1]] = -1
			if m.matcher.Matches(m.texts[pair[1]]) {
				m.known[pair[1]] = 1
			}
		}
		return m.known[pair[1]] == 1
	}
	return m.empty
}

// candidates returns the series blocks that may have series that all matchers match. It tries matchers with few values
// first, since looking up a value is cheap. A regular expression without a list of values must be compared with every
// value of its label. It does this only while more than manyBlocks blocks are left. If the index of values is damaged,
// it returns more blocks than necessary, but never fewer.
func (p *Part) candidates(matchers []*labels.Matcher) (blockSet, error) {
	set := newBlockSet(p.footer.blocks)
	set.fill(p.footer.blocks)
	var costly []*labels.Matcher
	for _, m := range matchers {
		if m.Matches("") {
			continue // it matches series without the label too
		}
		values := m.SetMatches()
		switch {
		case m.Type == labels.MatchEqual:
			values = []string{m.Value}
		case m.Type != labels.MatchRegexp || m.Value == ".+":
			continue // it matches nearly all series
		case len(values) == 0:
			costly = append(costly, m)
			continue
		}
		with, err := p.blocksOfValues(m.Name, values)
		if err := set.narrow(with, err); err != nil {
			return nil, err
		}
	}
	for _, m := range costly {
		if set.size() <= manyBlocks {
			break
		}
		with, err := p.blocksOfMatching(m)
		if err := set.narrow(with, err); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// narrow keeps the blocks that are also in another set. If err says that the index of values is damaged, it keeps all
// blocks; then the labels in the blocks decide.
func (s blockSet) narrow(with blockSet, err error) error {
	switch {
	case err == nil:
		for i := range s {
			s[i] &= with[i]
		}
	case !isDamage(err):
		return err
	}
	return nil
}

// size returns the number of blocks in the set.
func (s blockSet) size() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// blocksOfValues returns the blocks that have a series with one of the values.
func (p *Part) blocksOfValues(name string, values []string) (blockSet, error) {
	set := newBlockSet(p.footer.blocks)
	for _, want := range values {
		err := p.eachValueOf(name, want, func(value []byte, spans varint.Reader) bool {
			if string(value) == want {
				set.addSpans(spans, p.footer.blocks)
			}
			return string(value) < want
		})
		if err != nil {
			return nil, err
		}
	}
	return set, nil
}

// blocksOfMatching returns the blocks that have a series whose value matches a regular expression. It tries all values
// that begin with the expression's literal prefix.
func (p *Part) blocksOfMatching(m *labels.Matcher) (blockSet, error) {
	set := newBlockSet(p.footer.blocks)
	prefix := m.Prefix()
	err := p.eachValueOf(m.Name, prefix, func(value []byte, spans varint.Reader) bool {
		if !strings.HasPrefix(string(value), prefix) {
			return string(value) < prefix
		}
		if m.Matches(string(value)) {
			set.addSpans(spans, p.footer.blocks)
		}
		return true
	})
	return set, err
}

// labelNames returns the decoded names block, from the cache if possible.
func (p *Part) labelNames() ([]nameEntry, error) {
	return p.names.get(0, func(uint64) ([]nameEntry, error) {
		b, _, err := p.load(p.footer.entries() - 1)
		if err != nil {
			return nil, err
		}
		return readNames(b, p.footer.lists)
	})
}

// eachValueOf calls fn, in order, for the values of a label that are not below from, until fn returns false. It may
// also call fn for some values before from. Values blocks are sorted, so it finds the first one by binary search.
func (p *Part) eachValueOf(name, from string, fn func(value []byte, spans varint.Reader) (more bool)) error {
	names, err := p.labelNames()
	if err != nil {
		return err
	}
	at, found := slices.BinarySearchFunc(names, name,
		func(n nameEntry, name string) int { return strings.Compare(n.name, name) })
	if !found {
		return nil
	}
	of := names[at]
	// This finds the last block that begins with a value up to from, or else the first block.
	low, high := uint64(0), of.blocks
	for high-low > 1 {
		middle := low + (high-low)/2
		before := false
		if err := p.values(of.first+middle,
			func(value []byte, _ varint.Reader) bool { before = string(value) <= from; return false }); err != nil {
			return err
		}
		if before {
			low = middle
		} else {
			high = middle
		}
	}
	more := true
	for i := low; i < of.blocks && more; i++ {
		err := p.values(of.first+i, func(value []byte, spans varint.Reader) bool {
			more = fn(value, spans)
			return more
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// values calls fn for each value of one values block (see eachValue).
func (p *Part) values(list uint64, fn func(value []byte, spans varint.Reader) bool) error {
	b, _, err := p.load(p.footer.pages + p.footer.blocks + list)
	if err != nil {
		return err
	}
	return eachValue(b, fn)
}
