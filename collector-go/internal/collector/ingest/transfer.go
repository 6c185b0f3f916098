package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// StateTransfer configures state transfer: a sender takes the exported state of its topology from one collector to
// another. A topology can then move without losing its open slices (docs/decisions/0018).
type StateTransfer struct {
	// Transfers is where the feed puts exported states.
	Transfers *checkpoint.Transfers
	// Arriving checks the state that a sender brings of its topology. It returns the series that the state names, in
	// the order of journal.Moved.Series.
	Arriving func(topology string, state []byte) ([]metric.Raw, error)
	// MaxBytes is the largest state that a sender may bring.
	MaxBytes int
}

// maxStatePart is the number of bytes of a state that one message carries. A state of several MB would be too large for
// one gRPC message.
const maxStatePart = 256 << 10

// generation is the number of collectors that an epoch of a sender has used. 0 and 1 both mean the first one.
type generation uint64

// epoch returns the epoch under which the journal stores the batches of a generation. Each generation has its own. A
// sender that returns may resend batches that this collector had before, and those are no duplicates in its new state.
func (g generation) epoch(of journal.Epoch) journal.Epoch {
	if g > 1 {
		last := of[8:]
		binary.BigEndian.PutUint64(last, binary.BigEndian.Uint64(last)^uint64(g))
	}
	return of
}

// checkGeneration returns an error unless an Open has either both epoch and generation or neither. Older senders have
// neither, and their streams transfer no state.
func checkGeneration(o *pb.Open) error {
	switch n := len(o.GetEpoch()); {
	case n != 0 && n != len(journal.Epoch{}):
		return fmt.Errorf("open.epoch has %d bytes; it must have %d or be empty", n, len(journal.Epoch{}))
	case (n == 0) != (o.GetGeneration() == 0):
		return errors.New("set both open.generation and open.epoch, or neither")
	}
	return nil
}

// stateTransfer is the part of a stream that transfers state. The stream's own goroutine owns it, except for the last
// fields, which mu of the stream protects.
type stateTransfer struct {
	sent         []byte // the epoch, as on the wire
	epoch        journal.Epoch
	lastSequence uint64 // the last of the epoch in the journal
	changed      <-chan struct{}
	leave        func()
	sentSequence uint64 // sequence of the newest state that was sent
	sentState    bool   // a state was sent

	// Protected by stream.mu.
	awaits bool // the sender's state has not arrived completely
	parts  []byte
}

// beginTransfer enables state transfer for a stream whose sender supports it. If the journal does not know the epoch of
// this generation and there was an earlier collector, it requests the sender's state. endTransfer undoes it.
func (s *stream) beginTransfer(open *pb.Open) error {
	c := s.server.o.StateTransfer
	if c == nil || open.GetGeneration() == 0 {
		return nil
	}
	topology := open.GetTopology()
	if err := s.server.transferOwners.acquire(topology, open.GetTask(), s); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	x := &stateTransfer{sent: open.GetEpoch()}
	s.admission.generation = generation(open.GetGeneration())
	x.epoch = s.admission.generation.epoch(journal.Epoch(open.GetEpoch()))
	var known bool
	x.lastSequence, known = s.server.journal.LastSequence(topology, x.epoch)
	x.awaits = !known && open.GetGeneration() > 1
	// The journal may know the epoch from batches that came before this collector exported any state.
	if open.GetGeneration() == 1 && s.server.transferOwners.begins(topology, x.epoch) {
		if err := s.server.moved(s.producer, &journal.Moved{Epoch: x.epoch, First: true}); err != nil {
			s.server.transferOwners.release(topology, s)
			return err
		}
		s.server.transferOwners.begun(topology, x.epoch)
	}
	x.changed, x.leave = c.Transfers.Watch(topology)
	s.stateTransfer = x
	return nil
}

// endTransfer releases what beginTransfer acquired. It does nothing for a stream without state transfer.
func (s *stream) endTransfer() {
	if s.stateTransfer != nil {
		s.stateTransfer.leave()
		s.server.transferOwners.release(s.producer.place.Topology, s)
	}
}

// moved appends a sender's new generation to the journal. If the journal has forgotten the producer, moved defines it
// again.
func (s *Server) moved(p *producer, m *journal.Moved) error {
	for renewals := 0; ; renewals++ {
		m.Producer, m.TimeMs = p.name(), s.o.Now().UnixMilli()
		err := s.journal.AppendControl(m)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, journal.ErrForgotten) && renewals < mostRenewals:
			if err := s.producers.renew(p); err != nil {
				return status.Error(codes.Internal, err.Error())
			}
		case errors.Is(err, journal.ErrClosed):
			return errClosing
		case errors.Is(err, journal.ErrFull):
			return refuse(time.Second, "%v", err)
		default:
			return status.Error(codes.Internal, err.Error())
		}
	}
}

// receiveState processes one part of the sender's state. When the state is complete, it appends a journal.Moved, so
// that every reader of the journal imports the state at the same position.
func (s *stream) receiveState(part *pb.State) error {
	x := s.stateTransfer
	if string(part.GetEpoch()) != string(x.sent) {
		return broken(codes.InvalidArgument, errors.New("state.epoch differs from open.epoch"))
	}
	if len(x.parts)+len(part.GetData()) > s.server.o.StateTransfer.MaxBytes {
		return broken(codes.InvalidArgument, fmt.Errorf("the state exceeds the limit of %d bytes",
			s.server.o.StateTransfer.MaxBytes))
	}
	x.parts = append(x.parts, part.GetData()...)
	if !part.GetLast() {
		return nil
	}
	state := x.parts
	x.awaits, x.parts = false, nil
	m := &journal.Moved{Epoch: x.epoch, State: state}
	if len(state) > 0 {
		topology := s.producer.place.Topology
		s.server.arriving.Lock() // one at a time, because decoding takes much memory
		series, err := s.server.o.StateTransfer.Arriving(topology, state)
		s.server.arriving.Unlock()
		if err != nil {
			return broken(codes.InvalidArgument, fmt.Errorf("state: %w", err))
		}
		if m.Series, err = s.server.define(nil, series); err != nil {
			return &brokenError{refuse(time.Minute, "no capacity for the %d series of the transferred topology: %v",
				len(series), err)}
		}
	}
	if err := s.server.moved(s.producer, m); err != nil {
		return &brokenError{err}
	}
	return nil
}

// sendState sends the newest exported state of the topology to its sender, if it belongs to this generation.
func (s *stream) sendState() error {
	x := s.stateTransfer
	state, there := s.server.o.StateTransfer.Transfers.Newest(s.producer.place.Topology)
	if !there || state.Epoch != x.epoch || x.sentState && state.Sequence <= x.sentSequence {
		return nil
	}
	x.sentSequence, x.sentState = state.Sequence, true
	for data := state.Data; ; {
		n := min(len(data), maxStatePart)
		part := &pb.State{Epoch: x.sent, Sequence: state.Sequence, Data: data[:n], Last: n == len(data)}
		data = data[n:]
		err := s.grpc.Send(&pb.ExportResponse{Message: &pb.ExportResponse_State{State: part}})
		if err != nil || part.Last {
			return err
		}
	}
}

// stateChanged returns a channel that holds a token if there may be a state to send. If the sender transfers no state,
// it is nil and never ready.
func (s *stream) stateChanged() <-chan struct{} {
	if s.stateTransfer == nil {
		return nil
	}
	return s.stateTransfer.changed
}

// transferOwners records the streams that transfer state, one task for each topology. Two tasks of a topology would
// each bring a state, and neither would be complete.
type transferOwners struct {
	mu    sync.Mutex
	task  map[string]transferOwner
	first map[string]journal.Epoch // by topology: epoch whose first generation this process has journaled
}

// begins reports whether the first generation of a sender must still be recorded in the journal. It is recorded once
// per process, because batches from before a restart do not show that the sender transfers its state.
func (c *transferOwners) begins(topology string, epoch journal.Epoch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first[topology] != epoch
}

// begun records that the first generation of a sender is in the journal.
func (c *transferOwners) begun(topology string, epoch journal.Epoch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == nil || len(c.first) >= maxFirst {
		c.first = map[string]journal.Epoch{}
	}
	c.first[topology] = epoch
}

// maxFirst bounds transferOwners.first. The first generation of a forgotten topology is recorded once more.
const maxFirst = 1024

// transferOwner is the task that transfers the state of a topology, and its newest stream.
type transferOwner struct {
	task   int32
	stream *stream // the newest stream
}

// acquire records the stream of a topology, and refuses a second task of the same topology. A new stream of the same
// task replaces the old one, because a sender reconnects before the end of the old stream is noticed.
func (c *transferOwners) acquire(topology string, task int32, of *stream) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, is := c.task[topology]; is && other.task != task {
		return fmt.Errorf("topology %q has two metrics consumer tasks, %d and %d: grpc.acknowledge: forwarded allows only one; set bullet.topology.metrics.collector.parallelism to 1",
			topology, other.task, task)
	}
	if c.task == nil {
		c.task = map[string]transferOwner{}
	}
	c.task[topology] = transferOwner{task, of}
	return nil
}

// release ends the ownership of a stream, unless a newer stream of the task has acquired it.
func (c *transferOwners) release(topology string, of *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.task[topology].stream == of {
		delete(c.task, topology)
	}
}
