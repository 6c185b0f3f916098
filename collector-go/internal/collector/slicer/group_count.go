package slicer

// totals are the counters of a group's followers: a counterState each, of which all but these is as the leader's. They
// hold for counters that go on counting; one that falls ends the group.
type totals struct {
	slots  []counting // those that count
	last   []float64  // by column, as total and offset
	total  []float64
	offset []float64
}

// counting is a slot of counters.
type counting struct {
	slot   int
	deltas bool
	lastMs int64 // of its newest slice
	made
}

// counts reports whether totals can hold a counter.
func counts(in *input) bool {
	c := &in.out.counter
	starts := &in.track.source.starts
	return c.begun && c.from == in && c.fell == nil && c.past == nil && len(c.recent) == 0 &&
		starts.packMs+starts.intervalMs == 0
}

// begin takes the followers' counters.
func (x *totals) begin(c *workerGroup, columns int) {
	for slot, in := range c.leader.tracks[0].inputs {
		if in.folding != foldGauge {
			x.slots = append(x.slots, counting{slot, in.folding == foldDeltas, in.out.counter.lastMs,
				in.out.counter.made})
		}
	}
	if len(x.slots) == 0 {
		return
	}
	x.last, x.total, x.offset = make([]float64, columns), make([]float64, columns), make([]float64, columns)
	for _, f := range c.followers {
		for _, slot := range x.slots {
			from, at := &f.source.tracks[0].inputs[slot.slot].out.counter, f.column+slot.slot
			x.last[at], x.total[at], x.offset[at] = from.last, from.total, from.offset
		}
	}
}

// end gives them back to a follower.
func (x *totals) end(f *follower) {
	for _, slot := range x.slots {
		to, at := &f.source.tracks[0].inputs[slot.slot].out.counter, f.column+slot.slot
		to.last, to.total, to.offset, to.lastMs, to.made = x.last[at], x.total[at], x.offset[at], slot.lastMs,
			slot.made
	}
}

// fold replaces the counters' means by their totals at the end of a folded column block. It returns false where a total
// falls.
func (x *totals) fold(c *workerGroup, from *columnBlock) bool {
	if len(x.slots) == 0 {
		return true
	}
	if len(from.rows) == 1 && c.perUnit == nil { // these are the rows themselves
		from.memory[0] = append(from.memory[0][:0], from.means...)
		from.means = from.memory[0]
	}
	for values := range from.inTime {
		for i := range c.followers {
			column := c.followers[i].column
			for _, slot := range x.slots {
				at := column + slot.slot
				v := values[at]
				if c.perUnit != nil {
					v /= c.perUnit[at]
				}
				switch {
				case slot.deltas:
					x.total[at] += v
				case v < x.last[at]:
					return false
				default:
					x.last[at] = v
				}
			}
		}
	}
	for i := range c.followers {
		column := c.followers[i].column
		for _, slot := range x.slots {
			at := column + slot.slot
			if !slot.deltas {
				x.total[at] = max(x.total[at], x.offset[at]+x.last[at])
			}
			from.means[at] = x.total[at]
		}
	}
	return true
}

// copyOf is a copy, which can be gone back to.
func (x *totals) copyOf(to *totals) {
	to.last, to.total, to.offset = append(to.last[:0], x.last...), append(to.total[:0], x.total...),
		append(to.offset[:0], x.offset...)
	to.slots = append(to.slots[:0], x.slots...)
}

// follow notes when the leader's counters were made.
func (x *totals) follow(leader *source) {
	for i := range x.slots {
		of := &leader.tracks[0].inputs[x.slots[i].slot].out.counter
		x.slots[i].lastMs, x.slots[i].made = of.lastMs, of.made
	}
}
