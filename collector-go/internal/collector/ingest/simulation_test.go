package ingest

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"pgregory.net/rapid"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// slowJournal is a journal whose disk proceeds when the test lets it. It keeps the contract of journal.Journal: answers
// are in order, and what is queued after a failed batch fails with it.
type slowJournal struct {
	full     bool
	queue    []slowAppend
	durable  map[uint64]int // by sequence: how often it was written
	order    []uint64
	ids      map[metric.Raw]journal.SeriesID
	layouts  [][]journal.SeriesID // by id, from 1
	controls []journal.Entry
}

type slowAppend struct {
	sequence  uint64
	duplicate bool
	done      func(error)
}

func newSlowJournal() *slowJournal {
	return &slowJournal{durable: map[uint64]int{}, ids: map[metric.Raw]journal.SeriesID{}}
}

func (j *slowJournal) SeriesOf(string) int   { return len(j.ids) }
func (j *slowJournal) FreeSeries() int       { return 1 << 20 }
func (j *slowJournal) ForgetIdle(string) int { return 0 }
func (j *slowJournal) AppendControl(e journal.Entry) error {
	j.controls = append(j.controls, e)
	return nil
}

func (j *slowJournal) LastSequence(string, journal.Epoch) (uint64, bool) { return 0, false }

func (j *slowJournal) DefineAll(to []journal.SeriesID, series []metric.Raw, mostNew int) []journal.SeriesID {
	for _, r := range series {
		if _, ok := j.ids[r]; !ok && mostNew > 0 {
			mostNew--
			j.ids[r] = journal.SeriesID(len(j.ids) + 1)
		}
		to = append(to, j.ids[r])
	}
	return to
}

func (j *slowJournal) DefineLayout(series []journal.SeriesID) (journal.LayoutID, error) {
	at := slices.IndexFunc(j.layouts, func(known []journal.SeriesID) bool { return slices.Equal(known, series) })
	if at < 0 {
		at, j.layouts = len(j.layouts), append(j.layouts, series)
	}
	return journal.LayoutID(at + 1), nil
}

func (j *slowJournal) DefineProducer(journal.ProducerDefined) (journal.ProducerID, error) {
	return 1, nil
}

func (j *slowJournal) Append(b *journal.Batch, done func(error)) (bool, error) {
	if j.full {
		return false, &journal.FullError{Reason: "queue", RetryAfter: 1}
	}
	duplicate := j.durable[b.Sequence] > 0 || slices.ContainsFunc(j.queue, func(a slowAppend) bool {
		return a.sequence == b.Sequence
	})
	j.queue = append(j.queue, slowAppend{b.Sequence, duplicate, done})
	return duplicate, nil
}

// write makes the first n of the queue durable.
func (j *slowJournal) write(n int) {
	for range min(n, len(j.queue)) {
		a := j.queue[0]
		j.queue = j.queue[1:]
		if !a.duplicate {
			j.durable[a.sequence]++
			j.order = append(j.order, a.sequence)
		}
		a.done(nil)
	}
}

// fail simulates a failed fsync: everything that is queued is refused.
func (j *slowJournal) fail() {
	failed := j.queue
	j.queue = nil
	for _, a := range failed {
		a.done(&journal.FullError{Reason: "write", RetryAfter: 1})
	}
}

// wire is both directions of one stream. Messages arrive when the test lets them.
type wire struct {
	grpc.ServerStream
	up   []*pb.Batch
	down []*pb.ExportResponse
}

func (w *wire) Context() context.Context               { return context.Background() }
func (w *wire) Recv() (*pb.ExportRequest, error)       { panic("the test delivers") }
func (w *wire) Send(response *pb.ExportResponse) error { w.down = append(w.down, response); return nil }

// model consists of a sender that keeps the protocol, a collector's stream, and the wire between them.
type model struct {
	t       *rapid.T
	server  *Server
	journal *slowJournal
	wire    *wire
	stream  *stream

	last  uint64   // the newest sequence
	held  []uint64 // ascending
	next  uint64   // the next to be sent
	acked map[uint64]bool
	gone  map[uint64]bool // abandoned
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, journal: newSlowJournal(), next: 1, acked: map[uint64]bool{}, gone: map[uint64]bool{}}
	o := DefaultOptions()
	o.Window = 8
	var err error
	m.server, err = New(m.journal, o)
	require.NoError(t, err)
	m.connect()
	return m
}

// connect opens a new stream. The sender begins with the oldest batch that it holds.
func (m *model) connect() {
	if m.stream != nil {
		m.server.disconnect(m.stream.producer)
	}
	producer, err := m.server.connect(&pb.Open{Topology: "t", Host: "h"})
	require.NoError(m.t, err)
	m.wire = &wire{}
	m.stream = newStream(m.server, m.wire, producer, "t", &entry{})
	m.next = m.last + 1
	if len(m.held) > 0 {
		m.next = m.held[0]
	}
}

// send puts the next batch on the wire, either one that it holds or a new one.
func (m *model) send() {
	if len(m.wire.up) >= 8 {
		return
	}
	for m.next <= m.last && !slices.Contains(m.held, m.next) {
		m.next++
	}
	if m.next > m.last {
		m.last++
		m.next = m.last
		m.held = append(m.held, m.next)
	}
	m.wire.up = append(m.wire.up, &pb.Batch{Epoch: make([]byte, 16), Sequence: m.next, OldestHeldSequence: m.held[0],
		Samples: &pb.SampleColumns{SeriesIds: []uint32{1}, TimeOffsetsMs: []int64{0}, Values: []float64{1}}})
	m.next++
}

// receiveState lets the collector receive a batch, if its window has capacity.
func (m *model) receiveState() {
	if len(m.wire.up) == 0 || len(m.stream.window.flights) >= m.server.o.Window {
		return
	}
	b := m.wire.up[0]
	m.wire.up = m.wire.up[1:]
	in := &incoming{}
	in.request.Message = &pb.ExportRequest_Batch{Batch: b}
	require.NoError(m.t, m.stream.take(in))
}

// hear lets the sender receive an answer.
func (m *model) hear() {
	if len(m.wire.down) == 0 {
		return
	}
	response := m.wire.down[0]
	m.wire.down = m.wire.down[1:]
	if ack := response.GetAcknowledgement(); ack != nil {
		for _, sequence := range m.held {
			if sequence <= ack.GetSequence() && sequence < m.next {
				require.Positive(m.t, m.journal.durable[sequence], "%d was acknowledged and is not durable", sequence)
				m.acked[sequence] = true
			}
		}
		m.held = slices.DeleteFunc(m.held, func(s uint64) bool { return m.acked[s] })
	}
	if full := response.GetFull(); full != nil {
		m.next = min(m.next, full.GetSequence())
	}
}

// abandon abandons a batch that is too old.
func (m *model) abandon() {
	if len(m.held) > 0 && m.held[0] < m.next {
		m.gone[m.held[0]] = true
		m.held = m.held[1:]
	}
}

func (m *model) answer() { require.NoError(m.t, m.stream.answer()) }

// TestOrderOverFull lets sender, wire, collector and disk proceed in any order. Nothing that the sender dropped after
// an acknowledgement may be missing, nothing may be duplicated, and everything is delivered in the end.
func TestOrderOverFull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"send":    func(*rapid.T) { m.send() },
			"send2":   func(*rapid.T) { m.send(); m.send() },
			"arrive":  func(*rapid.T) { m.receiveState() },
			"arrive2": func(*rapid.T) { m.receiveState(); m.receiveState() },
			"answer":  func(*rapid.T) { m.answer() },
			"hear":    func(*rapid.T) { m.hear() },
			"write":   func(t *rapid.T) { m.journal.write(rapid.IntRange(1, 4).Draw(t, "n")) },
			"fail":    func(*rapid.T) { m.journal.fail() },
			"full":    func(*rapid.T) { m.journal.full = !m.journal.full },
			"connect": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					m.connect()
				}
			},
			"abandon": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					m.abandon()
				}
			},
		})
		m.finish()
	})
}

// finish delivers everything and checks the totals.
func (m *model) finish() {
	m.journal.full = false
	last := m.last
	for step := 0; len(m.held) > 0 && m.held[0] <= last; step++ {
		require.Less(m.t, step, 10_000, "batches %v do not get through; flights %+v, refused %d", m.held,
			m.stream.window.flights,
			m.stream.window.refused)
		if m.next <= m.last {
			m.send()
		}
		m.receiveState()
		m.journal.write(100)
		m.answer()
		m.hear()
	}
	for sequence := uint64(1); sequence <= last; sequence++ {
		require.True(m.t, m.journal.durable[sequence] == 1 || m.gone[sequence] && m.journal.durable[sequence] == 0,
			"%d was written %d times", sequence, m.journal.durable[sequence])
	}
	require.Zero(m.t, m.server.Totals().Balance())
}

// TestOrderIsKept checks that batches reach the journal in the order of their sequences after a Full, if no write
// failed.
func TestOrderIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"send":   func(*rapid.T) { m.send() },
			"arrive": func(*rapid.T) { m.receiveState() },
			"answer": func(*rapid.T) { m.answer() },
			"hear":   func(*rapid.T) { m.hear() },
			"write":  func(*rapid.T) { m.journal.write(2) },
			"full":   func(*rapid.T) { m.journal.full = !m.journal.full },
		})
		m.finish()
		require.True(t, slices.IsSorted(m.journal.order), "%v", m.journal.order)
	})
}
