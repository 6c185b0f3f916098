package slicer

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// workerGroup is a group of workers of one layout whose states are equal, and to which every block does the same. It
// exists for speed only: a worker that is processed alone costs about a dozen cache misses per block, and a group costs
// a few long rows.
//
// The first worker is the leader, and it is processed like any other worker. The open samples of the followers stay
// rows of the blocks in which they arrived, and their own states are not updated. Whatever is written for the leader is
// written for each follower too, with the follower's refs and values.
//
// The group ends as soon as something happens to one worker alone, or something happens to the leader that the group
// does not record. Then each worker continues alone from a copy of the leader's state. So every change of a single
// worker must call alone first; otherwise a follower would lose the change. Nothing outside the package sees a group.
type workerGroup struct {
	layout    *layout
	run       int // the leader's
	leader    *source
	followers []follower
	singly    []int // runs of the layout that are of the leader, and of workers that are not in step
	since     int   // of the layout's blocks

	least, most  []float64 // by slot
	perUnit      []float64 // by column of the layout; nil where no value is divided
	columnBlocks columnBlocks
	totals       totals
	before       totals // the slices that close

	refs [][]slice.Ref // of the followers, by what is written under the leader's ref
	of   map[slice.Ref]written
}

// follower is a worker and the first of its columns.
type follower struct {
	source *source
	run    int
	column int
}

// written is what is written under a ref of the leader.
type written struct {
	place int // in refs
	slot  int // of a gauge; notSample for what is the same of all workers
	part  int // 0 the mean, 1 the least, 2 the greatest
}

const notSample = -1

// alone ends the group of a source, since something is about to happen to it alone.
func (s *Slicer) alone(src *source) {
	if src != nil && src.workerGroup != nil {
		s.dissolve(src.workerGroup)
	}
}

// aloneInput is alone for the source of an input.
func (s *Slicer) aloneInput(in *input) {
	switch {
	case len(s.workerGroups) == 0:
	case in.track != nil:
		s.alone(in.track.source)
	default:
		s.alone(s.byWorker[in.rule.Worker])
	}
}

// aloneOn is alone for the workers of a host.
func (s *Slicer) aloneOn(host string) {
	for _, c := range slices.Clone(s.workerGroups) {
		if c.leader.worker.Host == host ||
			slices.ContainsFunc(c.followers, func(f follower) bool { return f.source.worker.Host == host }) {
			s.dissolve(c)
		}
	}
}

// addGrouped takes a block's samples of a group's workers; values are those of all cells.
func (s *Slicer) addGrouped(c *workerGroup, b *block.Block, values []float64) {
	t := c.leader.tracks[0]
	for row := range b.Rows {
		timeMs := b.TimeMs(row)
		endMs := t.endOf(timeMs)
		to := c.columnBlocks.add(endMs, t.row(endMs, timeMs), t.rows, b.Columns,
			s.batch.origin(timeMs))
		if b.Rows == 1 {
			copy(to, values)
			continue
		}
		for column := range to {
			to[column] = values[column*b.Rows+row]
		}
	}
	s.opened(t, len(c.followers)*len(t.inputs)*b.Rows)
	// in the order of the layout, since the first who closes a slice speaks for its topology
	for _, run := range c.singly {
		s.addRunOf(c.layout, run, b, values)
	}
}

// takes reports whether a block has usable samples, in time, for each worker of a group, and returns the first of
// their rows.
func (s *Slicer) takes(c *workerGroup, b *block.Block, values []float64) bool {
	t := c.leader.tracks[0]
	if b.OffsetsMs != nil || b.Rows > 1 && b.StepMs < t.rowMs {
		return false
	}
	r, pages := t.source.room, (b.Rows+t.rows)*(t.columns()+1)
	if s.pages+pages > s.options.pages(s.options.MaxOpenSamples) ||
		r.pages+pages > s.options.pages(s.options.MaxTopologyOpenSamples) {
		return false
	}
	for row := range b.Rows {
		timeMs := b.TimeMs(row)
		if timeMs <= 0 || timeMs > maxTimeMs {
			return false
		}
		if endMs := t.endOf(timeMs); endMs <= t.closedTo || c.columnBlocks.has(endMs, t.row(endMs, timeMs)) ||
			timeMs <= t.newestMs && c.columnBlocks.repeats(t, s.batch.origin(timeMs)) {
			return false
		}
	}
	slots := len(c.least)
	for i := range c.followers {
		if !within(values[c.followers[i].column*b.Rows:][:slots*b.Rows], c.least, c.most, b.Rows) {
			return false
		}
	}
	return within(values[c.layout.column(c.run)*b.Rows:][:slots*b.Rows], c.least, c.most, b.Rows)
}

// within reports whether all values of some slots, each with so many rows, lie within what each slot takes.
func within(values, least, most []float64, rows int) bool {
	if rows == 1 {
		least, most = least[:len(values)], most[:len(values)]
		for i, v := range values {
			if !(v >= least[i] && v <= most[i]) {
				return false
			}
		}
		return true
	}
	for i := range least {
		for _, v := range values[i*rows : (i+1)*rows] {
			if !(v >= least[i] && v <= most[i]) {
				return false
			}
		}
	}
	return true
}

// advanceTogether is advance for a group.
func (s *Slicer) advanceTogether(c *workerGroup) {
	if !s.moves(c.leader) {
		return
	}
	before := &s.scratch.before
	before.read(c.leader)
	from := s.mark(c.leader)
	s.advanceAlone(c.leader)
	if s.follow(c, &from) {
		return
	}
	s.scatter(c, before) // the followers' turn comes
}

// mark is where what is written of a leader begins.
type mark struct {
	slices, definitions, retired, histograms int
	counts                                   Counts
	refused                                  uint64
	ended                                    int
	writers                                  int // of the topology's infos, that are the leader
	reasons                                  int // that something is counted by, and its series are there or will be
}

func (s *Slicer) mark(src *source) mark {
	m := mark{slices: len(s.closed.Refs), definitions: len(s.closed.Definitions), retired: len(s.closed.Retired),
		histograms: len(s.closed.HistogramRefs),
		counts:     s.counts, ended: len(src.ended)}
	for tallies := range src.health.tallies {
		m.reasons += len(tallies)
	}
	m.counts.Refused = nil
	for _, n := range s.counts.Refused {
		m.refused += n
	}
	for _, in := range src.room.infos {
		if in.writer == src {
			m.writers++
		}
	}
	return m
}

// follow writes for each follower what was written for the leader since a mark. It returns false and changes nothing
// where more than slices came of it: a definition, a refusal, a late sample.
func (s *Slicer) follow(c *workerGroup, from *mark) bool {
	now := s.mark(c.leader)
	if now.definitions != from.definitions || now.retired != from.retired || now.histograms != from.histograms ||
		now.refused != from.refused ||
		now.counts.Late != from.counts.Late || now.ended != from.ended || now.writers != from.writers ||
		now.reasons != from.reasons {
		return false
	}
	own, all := s.writeFollowers(c, from)
	if !all {
		return false
	}
	n := uint64(len(c.followers))
	s.counts.InSlices += n * (now.counts.InSlices - from.counts.InSlices)
	s.counts.Slices += n * (now.counts.Slices - from.counts.Slices - uint64(own))
	s.counts.Markers += n * (now.counts.Markers - from.counts.Markers)
	t := c.leader.tracks[0]
	c.totals.follow(c.leader)
	rows := c.columnBlocks.closeTo(t.closedTo)
	s.opened(t, -rows*len(c.followers)*len(t.inputs))
	return true
}

// again is a slice of the leader that is written of each follower.
type again struct {
	written
	refs   []slice.Ref
	endMs  int64
	value  float64
	values []float64 // by column; nil where value is everybody's
}

// fold folds what closes up to a time. It returns false and changes nothing where a counter falls.
func (c *workerGroup) fold(closedTo int64) bool {
	c.totals.copyOf(&c.before)
	for _, x := range c.columnBlocks.open {
		if x.endMs > closedTo {
			break
		}
		x.fold(len(c.layout.series), c.perUnit)
		if !c.totals.fold(c, x) {
			c.totals, c.before = c.before, c.totals
			return false
		}
	}
	return true
}

// writeFollowers writes for each follower what was written for the leader, except what the leader wrote about its
// topology, and returns how many rows those are. It writes nothing, and returns false, where it cannot attribute a row
// or a counter fell.
func (s *Slicer) writeFollowers(c *workerGroup, from *mark) (own int, all bool) {
	list := s.scratch.again[:0]
	defer func() { s.scratch.again = list[:0] }()
	for i := from.slices; i < len(s.closed.Refs); i++ {
		ref := s.closed.Refs[i]
		w, known := c.of[ref]
		switch {
		case known:
			list = append(list, again{refs: c.refs[w.place], written: w, endMs: s.closed.EndsMs[i],
				value: s.closed.Values[i]})
		case slices.ContainsFunc(c.leader.room.infos, func(in *info) bool { return in.hasRef && in.ref == ref }):
			own++
		default:
			return 0, false
		}
	}
	if !c.fold(c.leader.tracks[0].closedTo) {
		return 0, false
	}
	for i := range list {
		a := &list[i]
		if a.slot == notSample || isMarker(a.value) {
			continue
		}
		x := c.columnBlocks.of(a.endMs)
		a.values = [...][]float64{x.means, x.least, x.greatest}[a.part]
	}
	to := &s.closed
	n := len(list) * len(c.followers)
	at := len(to.Refs)
	to.Refs, to.EndsMs, to.Values = slices.Grow(to.Refs, n)[:at+n], slices.Grow(to.EndsMs, n)[:at+n],
		slices.Grow(to.Values, n)[:at+n]
	for i := range c.followers {
		column := c.followers[i].column
		refs, ends, values := to.Refs[at:at+len(list)], to.EndsMs[at:at+len(list)], to.Values[at:at+len(list)]
		for j := range list {
			a := &list[j]
			refs[j], ends[j], values[j] = a.refs[i], a.endMs, a.value
			if a.values != nil {
				values[j] = a.values[column+a.slot]
			}
		}
		at += len(list)
	}
	return own, true
}
