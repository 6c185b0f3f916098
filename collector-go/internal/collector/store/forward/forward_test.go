package forward

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// point identifies a slice that a receiver has.
type point struct {
	ref   slice.Ref
	endMs int64
}

// receiver behaves like Prometheus: it accepts a request completely or not at all, and gives one reason.
type receiver struct {
	has      map[point]int
	newest   map[slice.Ref]int64
	windowMs int64 // how far behind the newest point it accepts others; -1: none out of order within a series
	bad      map[point]string
	fail     func() error
	after    func() error // called after the points were accepted
	requests int
	order    []point // in the order of acceptance
	forgot   []slice.Ref
}

func newReceiver() *receiver {
	return &receiver{has: map[point]int{}, newest: map[slice.Ref]int64{}, windowMs: 1 << 50, bad: map[point]string{},
		fail: func() error { return nil }, after: func() error { return nil }}
}

func (r *receiver) Define(d slice.Definition) string {
	if d.Series.Labels.Get("bad") != "" {
		return Invalid
	}
	return ""
}
func (r *receiver) Forget(ref slice.Ref)               { r.forgot = append(r.forgot, ref) }
func (r *receiver) Holds(*slice.Columns, Point) string { return "" }
func (r *receiver) Close()                             {}

func (r *receiver) Encode(to []byte, _ *slice.Columns, points []Point) []byte {
	for _, p := range points {
		to = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(to, uint32(p.Ref)), uint64(p.EndMs))
	}
	return to
}

func (r *receiver) Post(_ context.Context, body []byte) error {
	r.requests++
	if err := r.fail(); err != nil {
		return err
	}
	var points []point
	newest := int64(0)
	for _, ms := range r.newest {
		newest = max(newest, ms)
	}
	for ; len(body) > 0; body = body[12:] {
		p := point{slice.Ref(binary.BigEndian.Uint32(body)), int64(binary.BigEndian.Uint64(body[4:]))}
		switch {
		case r.bad[p] != "":
			return &Refusal{Status: 400, Text: r.bad[p]}
		case r.windowMs < 0 && p.endMs < r.newest[p.ref]:
			return &Refusal{Status: 400, Text: "out of order sample"}
		case r.windowMs >= 0 && p.endMs < newest-r.windowMs:
			return &Refusal{Status: 400, Text: "too old sample"}
		}
		points = append(points, p)
	}
	for _, p := range points {
		r.has[p]++
		r.newest[p.ref] = max(r.newest[p.ref], p.endMs)
	}
	r.order = append(r.order, points...)
	return r.after()
}

const width = int64(10_000)

// columns returns slices of some series for a time range.
func columns(series int, fromMs, toMs int64) *slice.Columns {
	c := &slice.Columns{}
	for ref := range slice.Ref(series) {
		c.Definitions = append(c.Definitions, slice.Definition{Ref: ref,
			Series: metric.Series{Labels: labels.FromStrings("__name__", fmt.Sprint("m", ref)),
				Kind: metric.KindGauge}})
		for ms := fromMs; ms < toMs; ms += width {
			c.Refs, c.EndsMs, c.Values = append(c.Refs, ref), append(c.EndsMs, ms), append(c.Values, float64(ms))
		}
	}
	return c
}

func open(t testing.TB, dir string, r *receiver, change ...func(*Options)) *Store {
	o := DefaultOptions("test")
	o.MaxSlices = 64
	for _, f := range change {
		f(&o)
	}
	s, err := Open(dir, r, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

const now = int64(1_700_000_000_000)

func TestRequestsAreBoundedAndEachSeriesIsInOrder(t *testing.T) {
	r := newReceiver()
	r.windowMs = -1
	rejected, err := open(t, t.TempDir(), r).Append(t.Context(), 10, columns(7, now, now+100*width))
	require.NoError(t, err)
	assert.Empty(t, rejected)
	assert.Len(t, r.has, 700)
	assert.Equal(t, (700+63)/64, r.requests)
}

func TestALargeRequestIsParted(t *testing.T) {
	r := newReceiver()
	_, err := open(t, t.TempDir(), r, func(o *Options) { o.MaxBytes = 100 }).Append(t.Context(), 10,
		columns(3, now, now+10*width))
	require.NoError(t, err)
	assert.Len(t, r.has, 30)
	assert.GreaterOrEqual(t, r.requests, 30*12/100)
}

// Whatever single points a receiver refuses, the others arrive in order, and the refused ones are counted by reason.
func TestSingleRefusedPointsAreFound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		r := newReceiver()
		r.windowMs = -1
		c := columns(1+random.IntN(5), now, now+int64(1+random.IntN(100))*width)
		want := map[string]int{}
		for i, ref := range c.Refs {
			if random.IntN(20) == 0 {
				text := []string{"duplicate sample for timestamp", "out of order sample",
					"something else"}[random.IntN(3)]
				r.bad[point{ref, c.EndsMs[i]}] = text
				want[map[string]string{"duplicate sample for timestamp": Duplicate, "out of order sample": OutOfOrder,
					"something else": Other}[text]]++
			}
		}
		rejected, err := open(t, t.TempDir(), r).Append(t.Context(), 10, c)
		require.NoError(t, err)
		require.Equal(t, want, rejected)
		require.Len(t, r.has, len(c.Refs)-len(r.bad))
		halvings := bits.Len(uint(len(c.Refs)))
		require.LessOrEqual(t, r.requests, 1+2*halvings*len(r.bad)+len(c.Refs)/64,
			"a refused point is found by halving")
	}
}

// A backlog that is too old takes few requests per time, however many series there are.
func TestABacklogBeyondTheWindowIsSentAndCounted(t *testing.T) {
	r := newReceiver()
	s := open(t, t.TempDir(), r, func(o *Options) { o.MaxSlices = 2000 })
	_, err := s.Append(t.Context(), 10, columns(1, now, now+width))
	require.NoError(t, err)
	r.requests, r.windowMs = 0, 50*width
	rejected, err := s.Append(t.Context(), 20, columns(100, now-100*width, now))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{TooOld: 5000}, rejected)
	assert.Len(t, r.has, 5001)
	assert.Less(t, r.requests, 300)
}

func TestAFailureContinuesAfterWhatWasAcknowledged(t *testing.T) {
	r, failures := newReceiver(), 0
	r.windowMs = -1 // an accepted point that is repeated after a newer one would be refused
	r.fail = func() error {
		if failures++; failures%3 == 0 {
			return errors.New("connection refused")
		}
		return nil
	}
	s, c := open(t, t.TempDir(), r), columns(5, now, now+100*width)
	var rejected map[string]int
	err := errors.New("not yet")
	for attempts := 0; err != nil; attempts++ {
		require.Less(t, attempts, 100)
		rejected, err = s.Append(t.Context(), 10, c)
	}
	assert.Empty(t, rejected)
	assert.Len(t, r.has, 500)
	for p, times := range r.has {
		require.Equal(t, 1, times, "%v", p)
	}
	assert.Equal(t, uint64(10), s.Durable())
}

// If an answer is lost, the receiver has more than the store knows. What it then refuses as a duplicate does not count
// as lost.
func TestALostAnswerRejectsNothing(t *testing.T) {
	r, lost := newReceiver(), 0
	r.windowMs = -1
	r.after = func() error {
		if lost++; lost == 1 {
			return errors.New("connection reset")
		}
		return nil
	}
	s, c := open(t, t.TempDir(), r), columns(2, now, now+20*width)
	_, err := s.Append(t.Context(), 10, c)
	require.Error(t, err)
	rejected, err := s.Append(t.Context(), 10, c)
	require.NoError(t, err)
	assert.Empty(t, rejected)
	assert.Len(t, r.has, 40)
	r.bad[point{0, now + 30*width}] = "out of order sample"
	rejected, err = s.Append(t.Context(), 20, columns(2, now+20*width, now+40*width))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{OutOfOrder: 1}, rejected, "later refusals are refusals")
}

// The same applies if a process ends between sending and writing its cursor.
func TestARestartRejectsNothingThatIsThere(t *testing.T) {
	r, dir := newReceiver(), t.TempDir()
	r.windowMs = -1
	s := open(t, dir, r)
	_, err := s.Append(t.Context(), 10, columns(2, now, now+20*width))
	require.NoError(t, err)
	cursor, err := os.ReadFile(filepath.Join(dir, cursorFile))
	require.NoError(t, err)
	_, err = s.Append(t.Context(), 20, columns(2, now+20*width, now+40*width))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, cursorFile), cursor, 0o666))

	s = open(t, dir, r)
	assert.Equal(t, uint64(10), s.Durable())
	requests := r.requests
	_, err = s.Append(t.Context(), 10, columns(2, now, now+20*width))
	require.NoError(t, err)
	assert.Equal(t, requests, r.requests, "what lies before the cursor is not sent again")
	rejected, err := s.Append(t.Context(), 20, columns(2, now+20*width, now+40*width))
	require.NoError(t, err)
	assert.Empty(t, rejected)
	assert.Len(t, r.has, 80)
	assert.Equal(t, uint64(20), s.Durable())
}

func TestSeriesThatTheReceiverDoesNotTakeAreNotSent(t *testing.T) {
	r, c := newReceiver(), columns(2, now, now+5*width)
	c.Definitions[1].Series.Labels = labels.FromStrings("__name__", "m", "bad", "yes")
	c.Refs, c.EndsMs, c.Values = append(c.Refs, 99), append(c.EndsMs, now), append(c.Values, 1)
	rejected, err := open(t, t.TempDir(), r).Append(t.Context(), 10, c)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{Invalid: 5, undefined: 1}, rejected)
	assert.Len(t, r.has, 5)
}

// A series that ends is forgotten once its last slices are acknowledged, also where an earlier process had sent them.
func TestSeriesThatEndAreForgotten(t *testing.T) {
	r, c, dir := newReceiver(), columns(2, now, now+5*width), t.TempDir()
	c.Retired = []slice.Ref{1, 7}
	failure := errors.New("away")
	r.fail = func() error { return failure }
	s := open(t, dir, r)
	_, err := s.Append(t.Context(), 10, c)
	require.ErrorIs(t, err, failure)
	assert.Empty(t, r.forgot)
	r.fail = func() error { return nil }
	for range 2 { // the second time, nothing is left to send
		_, err = s.Append(t.Context(), 10, c)
		require.NoError(t, err)
		assert.Equal(t, []slice.Ref{1}, r.forgot)
		r.forgot = nil
	}
	assert.Len(t, r.has, 10)
	late := &slice.Columns{Refs: []slice.Ref{1}, EndsMs: []int64{now + 9*width}, Values: []float64{1}}
	rejected, err := s.Append(t.Context(), 11, late)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{undefined: 1}, rejected)
}

func TestASilentTopologyMovesTheCursor(t *testing.T) {
	s := open(t, t.TempDir(), newReceiver(), func(o *Options) { o.IdleHandOvers = 3 })
	for upTo := uint64(1); upTo <= 3; upTo++ {
		assert.Zero(t, s.Durable())
		_, err := s.Append(t.Context(), upTo, &slice.Columns{})
		require.NoError(t, err)
	}
	assert.Equal(t, uint64(3), s.Durable())
}

func TestADamagedCursorIsNamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, cursorFile),
		[]byte("bullet-metrics forward cursor 1\nposition 7\nreserved 9\ncrc32c 00000000\n"), 0o666))
	_, err := Open(dir, newReceiver(), DefaultOptions("test"))
	assert.ErrorContains(t, err, "run bullet-metrics fsck --repair to replace it")
}

// The golden file has what version 1 writes.
func TestTheCursorsFormat(t *testing.T) {
	golden, err := os.ReadFile("testdata/cursor-1")
	require.NoError(t, err)
	c := cursor{position: 4294967396, reserved: 4311744612}
	assert.Equal(t, string(golden), string(c.encode()))
	read, err := decodeCursor(golden)
	require.NoError(t, err)
	assert.Equal(t, c, read)
}

func TestWhatAnAnswerMeans(t *testing.T) {
	at := time.UnixMilli(now).UTC()
	for _, c := range []struct {
		status int
		after  string
		text   string
		reason string // of a refusal
		wait   time.Duration
		advice string
	}{
		{status: 200}, {status: 204},
		{status: 400, text: "out of order sample", reason: OutOfOrder},
		{status: 400, text: "too old sample", reason: TooOld},
		{status: 400, text: "out of bounds", reason: TooOld},
		{status: 400, text: "duplicate sample for timestamp", reason: Duplicate},
		{status: 400, text: "the sample has been rejected because another sample with the same timestamp, but a different value, has already been ingested (err-mimir-sample-duplicate-timestamp)",
			reason: Duplicate},
		{status: 400, text: "the sample has been rejected because its timestamp is too old (err-mimir-sample-timestamp-too-old)",
			reason: TooOld},
		{status: 400, text: "received a sample whose timestamp is too far in the future (err-mimir-too-far-in-future)",
			reason: Ahead},
		{status: 400, text: "per-user series limit of 150000 exceeded (err-mimir-max-series-per-user)", reason: Limit},
		{status: 409, text: "store locally: conflict: out of order", reason: OutOfOrder},
		{status: 400, text: `{"error":"partial write: points beyond retention policy dropped=1"}`, reason: TooOld},
		{status: 400, text: `{"error":"partial write: field type conflict: input field \"value\" ..."}`,
			reason: Conflict},
		{status: 413, text: "", reason: TooLarge},
		{status: 422, text: "?", reason: Other},
		{status: 429, after: "7", wait: 7 * time.Second},
		{status: 503, after: at.Add(90 * time.Second).Format(http.TimeFormat), wait: 90 * time.Second},
		{status: 500}, {status: 408}, {status: 502, after: "soon"},
		{status: 400, text: "Client sent an HTTP request to an HTTPS server.", advice: "whether it begins with https"},
		{status: 400, text: "<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>",
			advice: "whether it begins with https"},
		{status: 413, text: "<html><head><title>413 Request Entity Too Large</title>", reason: TooLarge},
		{status: 401, advice: "check the user, password or token"},
		{status: 404, advice: "check the store's url"},
		{status: 200}, {status: 204},
		{status: 200, text: "<!DOCTYPE html><title>Log in</title>", advice: "this answer is not from a receiver"},
	} {
		err := Answer(c.status, http.Header{"Retry-After": {c.after}}, c.text, at)
		var refusal *Refusal
		var unavailable *Unavailable
		switch {
		case c.status < 300 && c.advice == "":
			assert.NoError(t, err)
		case c.reason != "":
			if assert.ErrorAs(t, err, &refusal, "%d", c.status) {
				assert.Equal(t, c.reason, refusal.reason(Point{EndMs: now - 1}, at), c.text)
			}
		default:
			if assert.ErrorAs(t, err, &unavailable, "%d", c.status) {
				assert.Equal(t, c.wait, unavailable.RetryAfter())
				assert.ErrorContains(t, err, c.advice)
			}
		}
	}
	ahead := &Refusal{Status: 400, Text: "out of bounds"}
	assert.Equal(t, Ahead, ahead.reason(Point{EndMs: now + 3_600_000}, at))
}
