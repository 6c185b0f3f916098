package embedded

import (
	"cmp"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/tsdb"
)

// retention decides which blocks go: oldest first, by age against the newest block and by size.
type retention struct {
	time    time.Duration // 0: no bound
	bytes   int64         // 0: no bound
	expired func(reason string, blocks int)
	counted map[ulid.ULID]bool // a block is listed until it is gone, and counted once
}

// kept is what retention looks at in a block.
type kept struct {
	id        ulid.ULID
	maxTimeMs int64
	bytes     int64
}

// expire is tsdb's BlocksToDelete.
func (r *retention) expire(blocks []*tsdb.Block) map[ulid.ULID]struct{} {
	all := make([]kept, 0, len(blocks))
	for _, b := range blocks {
		all = append(all, kept{id: b.Meta().ULID, maxTimeMs: b.Meta().MaxTime, bytes: b.Size()})
	}
	gone := make(map[ulid.ULID]struct{})
	for id, reason := range r.decide(all) {
		gone[id] = struct{}{}
		r.count(id, reason)
	}
	return gone
}

// decide returns the blocks to delete, with the reason "time" or "bytes".
func (r *retention) decide(blocks []kept) map[ulid.ULID]string {
	slices.SortFunc(blocks, func(a, b kept) int { return cmp.Compare(b.maxTimeMs, a.maxTimeMs) }) // newest first
	gone := make(map[ulid.ULID]string)
	var size int64
	for i, b := range blocks {
		size += b.bytes
		switch {
		case r.time > 0 && blocks[0].maxTimeMs-b.maxTimeMs >= r.time.Milliseconds():
			gone[b.id] = "time"
		case r.bytes > 0 && size > r.bytes && i > 0:
			gone[b.id] = "bytes"
		}
	}
	return gone
}

func (r *retention) count(id ulid.ULID, reason string) {
	if r.counted[id] || r.expired == nil {
		return
	}
	if r.counted == nil {
		r.counted = make(map[ulid.ULID]bool)
	}
	r.counted[id] = true
	r.expired(reason, 1)
}
