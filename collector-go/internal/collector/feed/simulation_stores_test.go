package feed

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

// strand is a feed that runs only while the simulation resumes it, up to the point at which it would wait.
type strand struct {
	name string
	feed *Feed
	end  context.CancelFunc
	next func() (time.Duration, bool)
	idle bool // it waits for the journal to grow
	over bool
	err  error
}

func newStrand(ctx context.Context, name string, f *Feed) *strand {
	s := &strand{name: name, feed: f}
	ctx, s.end = context.WithCancel(ctx)
	s.next, _ = iter.Pull(func(yield func(time.Duration) bool) {
		f.pause = func(within context.Context, d time.Duration) error {
			if within.Err() == nil {
				yield(d)
			}
			return within.Err()
		}
		yield(0)
		s.err = f.Run(ctx)
	})
	s.resume() // so that it has its pause
	return s
}

// resume lets the feed continue, and returns how long it waits next; 0 means until the journal grows.
func (s *strand) resume() time.Duration {
	wait, more := s.next()
	s.over = !more
	return wait
}

// finish ends the feed at once.
func (s *strand) finish() {
	s.end()
	for !s.over {
		s.resume()
	}
}

// buffered is a store like the embedded one. It keeps what it receives in memory, makes it durable from time to time,
// and only then moves its cursor.
type buffered struct {
	*simulated
	names
	given, cursor uint64
	handOvers     int
	memory        slicesByName
	durable       slicesByName // on a disk that never fails
}

func newBuffered(w *simulated) *buffered { return &buffered{simulated: w, durable: slicesByName{}} }

// open returns the store of a new process.
func (s *buffered) open() *buffered {
	s.names, s.memory, s.given = names{}, slicesByName{}, s.cursor
	return s
}

// Rewind implements Rewinder.
func (s *buffered) Rewind(cursor uint64) {
	require.LessOrEqual(s.t, cursor, s.cursor)
	s.given = cursor
}

// Append implements Store.
func (s *buffered) Append(_ context.Context, upTo uint64, c *slice.Columns) (map[string]int, error) {
	require.GreaterOrEqual(s.t, upTo, s.given)
	s.each(c, func(name string, p storetest.Point) { s.memory.put(name, p) })
	s.given = upTo
	if s.handOvers++; s.handOvers%17 == 0 && !s.chance(10) {
		s.flush()
	}
	return nil, nil
}

func (s *buffered) flush() {
	for name, points := range s.memory {
		for _, p := range points {
			putOnce(s.simulated, s.durable, name, p)
		}
	}
	s.memory, s.cursor = slicesByName{}, max(s.cursor, s.given)
}

// Durable implements Store.
func (s *buffered) Durable() uint64 { return s.cursor }

// putOnce stores a slice. If it already exists, the value must be the same.
func putOnce(w *simulated, in slicesByName, name string, p storetest.Point) (isNew bool) {
	if before, there := in[name][p.EndMs]; there {
		if before != p {
			require.Equal(w.t, before, p, "%s: a slice that was stored changed", name)
		}
		return false
	}
	in.put(name, p)
	return true
}

// kind is the behaviour of a receiver.
type kind struct {
	name     string
	slowMs   int64 // the longest duration of a request
	outages  int   // one request in so many begins an outage; 0 for none
	outageMs int64 // the longest outage
	refuses  uint64
	inOrder  bool // it accepts each series in order of time, once
	loses    int  // one answer in so many is lost after the slices were stored
	kills    int  // after one request in so many the collector is killed
}

var kinds = []kind{
	{name: "steady"},
	{name: "slow", slowMs: 4000, loses: 50},
	{name: "absent", outages: 20, outageMs: 4 * 3_600_000},
	{name: "refusing", refuses: 9, outages: 30, outageMs: 20_000},
	{name: "dying", kills: 40, loses: 20},
	{name: "ordered", inOrder: true, loses: 10, kills: 100, slowMs: 300},
}

// receiver is a store on the network, on a machine that never fails.
type receiver struct {
	*simulated
	kind   kind
	has    slicesByName
	newest map[string]int64
	backMs int64 // unavailable until then

	// State of the current process.
	names
	pause  pause
	kills  bool
	points []namedPoint // of the current request
}

type namedPoint struct {
	name  string
	point storetest.Point
}

func newReceiver(w *simulated, k kind) *receiver {
	return &receiver{simulated: w, kind: k, has: slicesByName{}, newest: map[string]int64{}}
}

// forwarding is the real store on the network. Its report of each hand-over is compared with the content of the
// receiver.
type forwarding struct {
	*forward.Store
	receiver *receiver
}

// open returns the store of a new process.
func (r *receiver) open(l *life) (*forwarding, error) {
	r.names, r.kills = names{}, false
	o := forward.DefaultOptions(r.kind.name)
	o.FS, o.MaxSlices, o.IdleHandOvers, o.Now = l.disk, 40, 10, l.clock
	store, err := forward.Open("/stores/"+r.kind.name, r, o)
	return &forwarding{store, r}, err
}

// Append implements Store.
func (f *forwarding) Append(ctx context.Context, upTo uint64, c *slice.Columns) (map[string]int, error) {
	rejected, err := f.Store.Append(ctx, upTo, c)
	if err == nil {
		f.receiver.balanced(c, rejected)
	}
	return rejected, err
}

// balanced checks that each slice that was handed over is stored, or was refused and counted.
func (r *receiver) balanced(c *slice.Columns, rejected map[string]int) {
	lacking := 0
	r.each(c, func(name string, p storetest.Point) {
		if _, there := r.has[name][p.EndMs]; !there {
			lacking++
		}
	})
	counted := 0
	for _, n := range rejected {
		counted += n
	}
	r.happen["store_rejected"] += counted
	if rejected != nil || lacking == 0 {
		require.LessOrEqual(r.t, lacking, counted, "%s: slices that are neither there nor counted", r.kind.name)
	}
}

// Define implements forward.Protocol.
func (r *receiver) Define(d slice.Definition) string {
	r.names[d.Ref] = d.Series.Labels.String()
	return ""
}

// Forget implements forward.Protocol. A point that follows would have no name.
func (r *receiver) Forget(ref slice.Ref) { delete(r.names, ref) }

// Holds implements forward.Protocol.
func (r *receiver) Holds(*slice.Columns, forward.Point) string { return "" }

// Close implements forward.Protocol.
func (r *receiver) Close() {}

// Encode implements forward.Protocol. It keeps the points for Post.
func (r *receiver) Encode(to []byte, c *slice.Columns, points []forward.Point) []byte {
	r.points = r.points[:0]
	for _, p := range points {
		at := numberOf
		if p.Histogram {
			at = distributionOf
		}
		r.points = append(r.points, namedPoint{r.names[p.Ref], at(c, int(p.Index))})
	}
	return append(to, make([]byte, 16*len(points))...)
}

var (
	errAway   = errors.New("connection refused")
	errLost   = errors.New("no answer")
	errKilled = errors.New("killed")
)

// Post implements forward.Protocol.
func (r *receiver) Post(ctx context.Context, _ []byte) error {
	k := r.kind
	if k.slowMs > 0 && !r.healed {
		if err := r.pause(ctx, time.Duration(1+r.upTo(k.slowMs))*time.Millisecond); err != nil {
			return err
		}
	}
	if k.outages > 0 && !r.healed && r.nowMs >= r.backMs && r.chance(k.outages) {
		r.backMs = r.nowMs + r.upTo(k.outageMs)
	}
	if r.nowMs < r.backMs {
		r.happen["store_away"]++
		return errAway
	}
	if err := r.take(); err != nil {
		return err
	}
	if k.kills > 0 && !r.healed && r.chance(k.kills) {
		r.kills = true
		_ = r.pause(ctx, time.Millisecond) // the process ends here
		return errKilled
	}
	if k.loses > 0 && !r.healed && r.chance(k.loses) {
		r.happen["answers_lost"]++
		return errLost
	}
	return nil
}

// take stores the slices of a request, all or none.
func (r *receiver) take() error {
	for _, p := range r.points {
		switch newest, has := r.newest[p.name]; {
		case r.refused(p.name, p.point.EndMs):
			return &forward.Refusal{Status: 400, Text: "limit of this label"}
		case r.kind.inOrder && has && p.point.EndMs < newest:
			r.happen["out_of_order"]++
			return &forward.Refusal{Status: 400, Text: "out of order sample"}
		}
	}
	for _, p := range r.points {
		if !putOnce(r.simulated, r.has, p.name, p.point) {
			r.happen["sent_twice"]++
		}
		r.newest[p.name] = max(r.newest[p.name], p.point.EndMs)
		r.note(p.name, uint64(p.point.EndMs), p.point.Bits)
	}
	return nil
}

// refused reports which slices are never accepted.
func (r *receiver) refused(name string, endMs int64) bool {
	return r.kind.refuses > 0 && hashOf(name, endMs)%r.kind.refuses == 0
}

// kept returns the slices that a store accepts.
func (r *receiver) kept(all slicesByName) slicesByName {
	kept := slicesByName{}
	for name, points := range all {
		for endMs, p := range points {
			if !r.refused(name, endMs) {
				kept.put(name, p)
			}
		}
	}
	return kept
}
