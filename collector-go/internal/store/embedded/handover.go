package embedded

// handovers remembers which journal positions the slices in the head come from. Only hand-overs that brought a newer slice
// end than any before are kept: the first hand-over with an end at or after t is always one of these.
type handovers struct {
	upTo     uint64 // everything that closed before it has been handed over
	newestMs int64  // the newest slice end of all
	baseMs   int64  // the newest slice end before entries[0]
	entries  []handover
}

type handover struct {
	from     uint64 // position before the hand-over
	newestMs int64  // its newest slice end
}

func newHandovers(from uint64, newestMs int64) handovers {
	return handovers{upTo: from, newestMs: newestMs, baseMs: newestMs}
}

// add notes that slices up to journal position upTo were taken, after which newestMs is the newest slice end.
func (h *handovers) add(upTo uint64, newestMs int64) {
	if newestMs > h.newestMs {
		h.entries = append(h.entries, handover{from: h.upTo, newestMs: newestMs})
		h.newestMs = newestMs
	}
	h.upTo = upTo
}

// settle forgets what is in blocks: of all that was handed over up to journal position handed, the slices that end before
// storedMs. It returns the position before the oldest slice that is not, and the newest slice end before that position.
func (h *handovers) settle(handed uint64, storedMs int64) (position uint64, newestMs int64) {
	for len(h.entries) > 0 && h.entries[0].newestMs < storedMs && h.entries[0].from < handed {
		h.baseMs = h.entries[0].newestMs
		h.entries = h.entries[1:]
	}
	if len(h.entries) == 0 {
		h.entries = nil // let go of the array
		return handed, h.baseMs
	}
	return min(handed, h.entries[0].from), h.baseMs
}

// occupancy counts the slices in the head, by the block range in which they end.
type occupancy struct {
	widthMs int64
	ranges  map[int64]int
	total   int
}

func newOccupancy(widthMs int64) occupancy {
	return occupancy{widthMs: widthMs, ranges: map[int64]int{}}
}

func (o *occupancy) add(endMs int64) {
	o.ranges[endMs/o.widthMs]++
	o.total++
}

// settle forgets the ranges that end before storedMs, or all of them.
func (o *occupancy) settle(storedMs int64, upTo extent) {
	for r, n := range o.ranges {
		if upTo == everything || (r+1)*o.widthMs <= storedMs {
			delete(o.ranges, r)
			o.total -= n
		}
	}
}
