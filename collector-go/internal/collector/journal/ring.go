package journal

import "sort"

// entryBytes is the memory that an entry takes in addition to its content.
const entryBytes = 128

// ring holds the newest durable entries in memory, for readers that keep up. Such readers receive the appended entries
// themselves, so that nothing is read from disk or decoded. The ring never has a gap: a reader whose position is before
// its first group reads the file. It is protected by Journal.mu.
type ring struct {
	limit  int64
	bytes  int64
	groups []*group // the oldest first; each begins where the one before ends
}

// group holds the entries of one write. It never changes, so readers use it without a lock.
type group struct {
	from, to Position
	items    []item
	bytes    int64
}

// item is an entry and the position after its record.
type item struct {
	end   Position
	entry Entry
}

// newGroup returns a group of the entries of records that were written between from and to.
func newGroup(from, to Position, records []queued) *group {
	n := 0
	for i := range records {
		n += len(records[i].defined)
		if records[i].entry != nil {
			n++
		}
	}
	g := &group{from: from, to: to, items: make([]item, 0, n)}
	for i := range records {
		r := &records[i]
		for _, entry := range r.defined {
			g.items = append(g.items, item{r.end, entry})
		}
		if r.entry != nil && r.kind != 0 {
			g.items = append(g.items, item{r.end, r.entry})
		}
		g.bytes += r.size()
	}
	g.bytes += int64(entryBytes * len(g.items))
	return g
}

// push adds the newest group. It removes old groups beyond the limit, and those that all open readers have received.
func (r *ring) push(g *group, had Position) {
	if n := len(r.groups); n > 0 && r.groups[n-1].to != g.from {
		r.clear() // there must be no gap
	}
	r.groups = append(r.groups, g)
	r.bytes += g.bytes
	for len(r.groups) > 0 && (r.bytes > r.limit || r.groups[0].to <= had) {
		r.bytes -= r.groups[0].bytes
		r.groups[0] = nil
		r.groups = r.groups[1:]
	}
}

func (r *ring) clear() { r.groups, r.bytes = nil, 0 }

// after returns the group that continues after a position, and the index of its first item. It returns nil if that
// position is not in memory.
func (r *ring) after(place Position) (*group, int) {
	i := sort.Search(len(r.groups), func(i int) bool { return r.groups[i].to > place })
	if i == len(r.groups) || r.groups[i].from > place {
		return nil, 0
	}
	g := r.groups[i]
	return g, sort.Search(len(g.items), func(i int) bool { return g.items[i].end > place })
}
