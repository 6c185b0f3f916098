package slicer

import (
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

const (
	// leastGrouped is how many workers a group is worth its while for.
	leastGrouped = 8
	// mostWait is after how many blocks, at the most, workers that fell out of step are looked at again.
	mostWait = 1 << 10
)

// groupCandidates records when the workers of a layout were last examined for a group, and when to examine them next.
type groupCandidates struct {
	workerGroup *workerGroup
	blocks      int // so far
	next        int // number of the block at which they are looked at
	wait        int // how many blocks after the next time that they are not in step
	asked       int // how often they were
}

// groupFor is the group that takes a block, which is formed where that is due; nil where there is none.
func (s *Slicer) groupFor(l *layout) *workerGroup {
	x := &l.groupCandidates
	x.blocks++
	if x.workerGroup == nil && x.blocks >= x.next && len(l.tracks) >= leastGrouped {
		if x.workerGroup = s.form(l, x.asked%len(l.tracks)); x.workerGroup == nil {
			x.asked++
			x.wait = min(max(2*x.wait, 1), mostWait)
			x.next = x.blocks + x.wait
		}
	}
	return x.workerGroup
}

// ungroup records that a group's layout brought its workers different samples. The more often it does, the less
// often the group is formed again.
func (s *Slicer) ungroup(c *workerGroup) {
	x := &c.layout.groupCandidates
	if x.wait = min(max(2*x.wait, 1), mostWait); x.blocks-c.since > 4*x.wait {
		x.wait = 1
	}
	s.dissolve(c)
	x.next = x.blocks + x.wait
}

// form brings the workers of a layout together whose states are as that of the one at a place among its runs. It needs
// half of them.
func (s *Slicer) form(l *layout, first int) *workerGroup {
	leader, at, found := (*source)(nil), 0, 0
	for at = first; at < len(l.tracks); at++ {
		if s.simple(l, at, true) {
			leader = l.tracks[at].track.source
			break
		}
	}
	if leader == nil {
		return nil
	}
	c := &workerGroup{layout: l, leader: leader, run: at, since: l.groupCandidates.blocks,
		of: make(map[slice.Ref]written)}
	want, got := &s.scratch.before, &s.scratch.other
	want.read(leader)
	last := leader
	for run := range l.tracks {
		src := l.tracks[run].track.source
		if run <= at || src.order < last.order || src.room != leader.room ||
			s.clocks[src.worker.Host] != s.clocks[leader.worker.Host] || !s.simple(l, run, false) || !l.alike(at, run) {
			c.singly = append(c.singly, run)
			continue
		}
		if got.read(src); !got.equal(want) || !sameOpen(leader.tracks[0], src.tracks[0]) {
			c.singly = append(c.singly, run)
			continue
		}
		found++
		last = src
		c.followers = append(c.followers, follower{src, run, l.column(run)})
	}
	if found+1 < leastGrouped || 2*found < len(l.tracks) {
		return nil
	}
	s.gather(c)
	return c
}

// simple reports whether a run's worker has one track, which holds nothing but the run's series, in the order of the
// layout.
func (s *Slicer) simple(l *layout, run int, leads bool) bool {
	t := l.tracks[run].track
	src := t.source
	if src.workerGroup != nil || len(src.tracks) != 1 || len(src.ended) > 0 || len(src.starts.known) > 0 ||
		len(t.free) > 0 || len(t.lanes) != len(t.inputs) {
		return false
	}
	cells := l.cellsOf(run)
	if len(cells) != len(t.inputs) {
		return false
	}
	for i, cell := range cells {
		in := t.inputs[i]
		if l.inputs[cell.column] != in || int(cell.column) != int(cells[0].column)+i || in.folding != foldGauge &&
			!counts(in) ||
			in.out.owner != in || in.out.users != 1 || !t.lanes[i].seated || !t.lanes[i].announced {
			return false
		}
	}
	for _, in := range src.room.infos {
		if in.writer == src && !leads {
			return false
		}
	}
	for _, b := range t.open {
		if len(b.samples) > 0 || len(b.histograms) > 0 || len(b.mixed) > 0 || b.held != len(b.origins)*len(t.inputs) {
			return false
		}
	}
	return true
}

// alike reports whether the series of two runs are sliced, and counted for collection health, alike.
func (l *layout) alike(first, second int) bool {
	x, y := l.tracks[first].track, l.tracks[second].track
	if x.widthMs != y.widthMs || x.intervalMs != y.intervalMs || x.packMs != y.packMs ||
		len(x.inputs) != len(y.inputs) ||
		x.source.starts.packMs != y.source.starts.packMs || x.source.starts.intervalMs != y.source.starts.intervalMs ||
		len(x.source.health.metrics) != len(y.source.health.metrics) {
		return false
	}
	for i, a := range x.inputs {
		b := y.inputs[i]
		if a.rule.Least != b.rule.Least || a.rule.Most != b.rule.Most || a.perUnit != b.perUnit ||
			a.folding != b.folding || a.folding != foldGauge && a.out.counter.made != b.out.counter.made ||
			a.steady != b.steady || a.lazy != b.lazy || a.everyMs != b.everyMs ||
			(a.health == nil) != (b.health == nil) || a.health != nil &&
			x.source.health.place(a.health) != y.source.health.place(b.health) {
			return false
		}
	}
	for i, m := range x.source.health.metrics {
		if n := y.source.health.metrics[i]; m.name != n.name || m.steady != n.steady {
			return false
		}
	}
	return true
}

// place identifies the series that report on a metric of a worker.
func (h *health) place(m *metricHealth) int { return slices.Index(h.metrics, m) }

// sameOpen reports whether the open samples of two tracks came together.
func sameOpen(x, y *track) bool {
	return slices.EqualFunc(x.open, y.open, func(a, b *bucket) bool {
		return a.endMs == b.endMs && a.held == b.held && slices.Equal(a.origins, b.origins) &&
			slices.EqualFunc(a.strips, b.strips, func(p, q strip) bool { return p.taken == q.taken && p.by == q.by })
	})
}

// gather takes the followers' open samples into column blocks, and notes their refs.
func (s *Slicer) gather(c *workerGroup) {
	t := c.leader.tracks[0]
	columns := len(c.layout.series)
	for _, b := range t.open {
		for i := range b.origins {
			row := t.row(b.endMs, b.origins[i].timeMs)
			to := c.columnBlocks.add(b.endMs, row, t.rows, columns, b.origins[i])
			clear(to)
			for _, f := range c.followers {
				own := f.source.tracks[0]
				s.copyRow(own, own.bucketOf(b.endMs), row, to[f.column:])
			}
		}
	}
	var places []slice.Ref
	for ref := range c.leader.refs {
		places = append(places, ref)
	}
	c.refs = make([][]slice.Ref, len(places))
	for i := range c.refs {
		c.refs[i] = make([]slice.Ref, 0, len(c.followers))
		c.of[places[i]] = written{place: i, slot: notSample}
	}
	for slot := range t.lanes {
		l := &t.lanes[slot]
		parts := 1
		if l.spread {
			parts = 3
		}
		for part := range parts {
			ref := l.ref + slice.Ref(part)
			c.of[ref] = written{c.of[ref].place, slot, part}
		}
	}
	for _, f := range c.followers {
		i := 0
		for ref := range f.source.refs {
			c.refs[i] = append(c.refs[i], ref)
			i++
		}
		own := f.source.tracks[0]
		for _, b := range own.open {
			s.discard(own, b)
		}
		clear(own.open)
		own.open, own.hot = own.open[:0], nil
		f.source.workerGroup = c
	}
	c.leader.workerGroup = c
	for slot, in := range t.inputs {
		c.least, c.most = append(c.least, in.rule.Least), append(c.most, in.rule.Most)
		if in.perUnit == 1 {
			continue
		}
		if c.perUnit == nil {
			c.perUnit = slices.Repeat([]float64{1}, columns)
		}
		for _, f := range c.followers {
			c.perUnit[f.column+slot] = in.perUnit
		}
	}
	c.totals.begin(c, columns)
	s.workerGroups = append(s.workerGroups, c)
}

// copyRow reads a row of a bucket, all of whose slots are taken.
func (s *Slicer) copyRow(t *track, b *bucket, row int, to []float64) {
	for column := range t.columns() {
		first := column * pageSlots
		copy(to[first:min(first+pageSlots, len(t.inputs))], b.strips[column*t.rows+row].values)
	}
}

func (t *track) bucketOf(endMs int64) *bucket {
	for _, b := range t.open {
		if b.endMs == endMs {
			return b
		}
	}
	return nil
}

// dissolve lets each worker of a group go on by itself.
func (s *Slicer) dissolve(c *workerGroup) {
	s.scratch.before.read(c.leader)
	s.scatter(c, &s.scratch.before)
}

// dissolveAll ends all groups, which are soon formed again.
func (s *Slicer) dissolveAll() {
	for len(s.workerGroups) > 0 {
		s.dissolve(s.workerGroups[len(s.workerGroups)-1])
	}
}

// scatter brings the followers to a state, with the samples of the column blocks that are open.
func (s *Slicer) scatter(c *workerGroup, now *state) {
	c.layout.groupCandidates.workerGroup = nil
	s.workerGroups = slices.DeleteFunc(s.workerGroups, func(other *workerGroup) bool { return other == c })
	c.leader.workerGroup = nil
	for _, f := range c.followers {
		f.source.workerGroup = nil
		now.write(f.source)
		c.totals.end(&f)
		t := f.source.tracks[0]
		for _, x := range c.columnBlocks.open {
			b := s.bucket(t, x.endMs)
			for _, r := range x.rows {
				s.putRow(t, b, &r, f.column)
			}
		}
		t.hot = nil
	}
	s.touchedLike(c)
}

// touchedLike puts the followers among the sources that the batch at hand touched where they would be if each had been
// touched by itself, and the leader was: in the order of the layout's runs.
func (s *Slicer) touchedLike(c *workerGroup) {
	at := slices.Index(s.batch.touched, c.leader)
	if at < 0 {
		return
	}
	rest := slices.Clone(s.batch.touched[at+1:])
	s.batch.touched = s.batch.touched[:at+1]
	followers := c.followers
	for _, src := range rest {
		run := slices.IndexFunc(c.singly, func(run int) bool { return c.layout.tracks[run].track.source == src })
		for run >= 0 && len(followers) > 0 && followers[0].run < c.singly[run] {
			s.batch.touched, followers = append(s.batch.touched, followers[0].source), followers[1:]
		}
		if run < 0 { // of another layout, which came later
			s.batch.touched = appendAll(s.batch.touched, followers)
			followers = nil
		}
		s.batch.touched = append(s.batch.touched, src)
	}
	s.batch.touched = appendAll(s.batch.touched, followers)
}

func appendAll(to []*source, followers []follower) []*source {
	for _, f := range followers {
		to = append(to, f.source)
	}
	return to
}

// putRow puts the samples of a row, which count as open already, into the cells of a track.
func (s *Slicer) putRow(t *track, b *bucket, r *columnBlockRow, column int) {
	by := b.origin(r.origin)
	t.newestMs = max(t.newestMs, r.origin.timeMs)
	for page := range t.columns() {
		first := page * pageSlots
		slots := min(pageSlots, len(t.inputs)-first)
		to := s.strip(t, b, page, r.row)
		if to == nil {
			for slot := first; slot < first+slots; slot++ {
				b.samples = append(b.samples, sample{r.origin.timeMs, r.values[column+slot], r.origin.order,
					uint32(slot), r.origin.producer})
			}
			continue
		}
		copy(to.values, r.values[column+first:][:slots])
		to.taken, to.by = math.MaxUint32>>(pageSlots-slots), by
		b.held += slots
	}
}
