package ingest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// carrying returns a collector that transfers states, which are lists of series names here, and its exported states.
func carrying(t *testing.T) (*collector, *checkpoint.Transfers) {
	desk := checkpoint.NewTransfers()
	return start(t, func(o *Options) {
		o.StateTransfer = &StateTransfer{Transfers: desk, MaxBytes: 3 * maxStatePart,
			Arriving: func(topology string, state []byte) (series []metric.Raw, err error) {
				if bytes.HasPrefix(state, []byte("bad")) {
					return nil, errors.New("cannot be read")
				}
				name := string(state[:min(len(state), 10)])
				return []metric.Raw{{Worker: metric.Worker{Topology: topology, Host: "h1", Port: 6700}, Name: name}}, nil
			}}
	}), desk
}

var movedEpoch = bytes.Repeat([]byte{7}, 16)

// carry opens a stream of a generation, and returns the answer.
func carry(t *testing.T, c *collector, generation uint64, task int32) (*client, *pb.Opened) {
	x := carryOn(t, c, generation, task)
	return x, x.receive().GetOpened()
}

func carryOn(t *testing.T, c *collector, generation uint64, task int32) *client {
	stream, err := c.dial().Export(t.Context())
	require.NoError(t, err)
	x := &client{t: t, stream: stream, epoch: movedEpoch}
	x.send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "bullet", Host: "h1", Port: 6700,
		Task: task, Epoch: movedEpoch, Generation: generation}}})
	return x
}

func (c *client) state(data string, last bool) {
	c.send(&pb.ExportRequest{Message: &pb.ExportRequest_State{State: &pb.State{Epoch: c.epoch, Data: []byte(data),
		Last: last}}})
}

func (c *client) one(sequence uint64) {
	c.batch(&pb.Batch{Sequence: sequence, Series: []*pb.SeriesDefinition{series(1, "a")}, Samples: samples(1, 1)})
}

// complete receives all parts of a state.
func (c *client) complete() (sequence uint64, data []byte) {
	for {
		part := c.receive().GetState()
		require.NotNil(c.t, part)
		require.LessOrEqual(c.t, len(part.GetData()), maxStatePart)
		require.Equal(c.t, c.epoch, part.GetEpoch())
		data = append(data, part.GetData()...)
		if part.GetLast() {
			return part.GetSequence(), data
		}
	}
}

func (c *collector) moves() (all []*journal.Moved) {
	for _, entry := range c.entries() {
		if m, ok := entry.(*journal.Moved); ok {
			all = append(all, m)
		}
	}
	return all
}

func TestASenderIsHandedWhatItCarries(t *testing.T) {
	c, desk := carrying(t)
	x, o := carry(t, c, 1, 7)
	assert.True(t, o.GetGivesStates())
	assert.False(t, o.GetWantsState(), "a sender that begins has none")
	x.one(1)
	x.acknowledged(1)

	epoch := journal.Epoch(movedEpoch)
	desk.Put("bullet", checkpoint.TransferState{Epoch: journal.Epoch{1}, Sequence: 9, Data: []byte("another sender's")})
	large := bytes.Repeat([]byte{5}, 2*maxStatePart+1)
	desk.Put("bullet", checkpoint.TransferState{Epoch: epoch, Sequence: 1, Data: large})
	sequence, data := x.complete()
	assert.EqualValues(t, 1, sequence)
	assert.Equal(t, large, data)
	desk.Put("bullet", checkpoint.TransferState{Epoch: epoch, Sequence: 2})
	sequence, data = x.complete()
	assert.EqualValues(t, 2, sequence, "one that was too large")
	assert.Empty(t, data)

	y, o := carry(t, c, 1, 7)
	assert.EqualValues(t, 1, o.GetTakenSequence(), "after a cut")
	assert.False(t, o.GetWantsState())
	sequence, _ = y.complete()
	assert.EqualValues(t, 2, sequence, "the newest, at once")
	z := carryOn(t, c, 1, 8)
	z.fails(codes.InvalidArgument, "set bullet.topology.metrics.collector.parallelism to 1")
	moves := c.moves()
	require.Len(t, moves, 1)
	assert.True(t, moves[0].First)
	assert.Equal(t, epoch, moves[0].Epoch)
}

func TestASenderThatComesFromElsewhereBringsWhatItCarries(t *testing.T) {
	c, desk := carrying(t)
	first, _ := carry(t, c, 1, 7)
	first.one(1)
	first.acknowledged(1)
	require.NoError(t, first.stream.CloseSend())

	x, o := carry(t, c, 3, 7)
	assert.True(t, o.GetWantsState())
	assert.Zero(t, o.GetTakenSequence())
	x.state("some", false)
	x.state("thing", true)
	x.one(1) // again, from the end of the state
	x.acknowledged(1)
	moves := c.moves()
	require.Len(t, moves, 2)
	assert.False(t, moves[1].First)
	assert.Equal(t, "something", string(moves[1].State))
	require.Len(t, moves[1].Series, 1)
	assert.NotEqual(t, moves[0].Epoch, moves[1].Epoch)
	batches := c.batches()
	require.Len(t, batches, 2, "of another generation it is no duplicate")
	assert.Equal(t, moves[1].Epoch, batches[1].Epoch)

	desk.Put("bullet", checkpoint.TransferState{Epoch: moves[1].Epoch, Sequence: 1, Data: []byte("newer")})
	sequence, data := x.complete()
	assert.EqualValues(t, 1, sequence)
	assert.Equal(t, "newer", string(data))
	_, o = carry(t, c, 3, 7)
	assert.False(t, o.GetWantsState(), "this generation is known now")
	assert.EqualValues(t, 1, o.GetTakenSequence())
}

func TestWhatASenderBringsIsLookedAt(t *testing.T) {
	c, _ := carrying(t)
	generation := uint64(1)
	for message, sends := range map[string]func(*client){
		"state: cannot be read":                       func(x *client) { x.state("bad", true) },
		"the state exceeds the limit of 786432 bytes": func(x *client) { x.state(string(make([]byte, 3*maxStatePart+1)), true) },
		"a Batch arrived before the requested State":  func(x *client) { x.one(1) },
		"state.epoch differs from open.epoch":         func(x *client) { x.epoch = movedEpoch[:8]; x.state("a", true) },
		"must be a valid Batch message":               func(x *client) { x.state("a", true); x.state("b", true) },
		"or its epoch is not open.epoch":              func(x *client) { x.state("a", true); x.epoch = make([]byte, 16); x.one(1) },
	} {
		t.Run(message, func(t *testing.T) {
			generation++
			x, o := carry(t, c, generation, 7)
			require.True(t, o.GetWantsState())
			sends(x)
			x.fails(codes.InvalidArgument, message)
		})
	}
	for message, open := range map[string]*pb.Open{
		"open.epoch has 3 bytes": {Topology: "bullet", Host: "h", Epoch: []byte("abc"), Generation: 1},
		"or neither":             {Topology: "bullet", Host: "h", Generation: 1},
	} {
		stream, err := c.dial().Export(t.Context())
		require.NoError(t, err)
		x := &client{t: t, stream: stream}
		x.send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: open}})
		x.fails(codes.InvalidArgument, message)
	}
}

// TestASenderCarriesFromWhenItMay covers a collector that begins to export states and has earlier batches in its
// journal.
func TestASenderCarriesFromWhenItMay(t *testing.T) {
	j, err := journal.Open(t.TempDir(), journal.DefaultOptions())
	require.NoError(t, err)
	plain := startOn(t, j, nil)
	x, o := carry(t, plain, 1, 7)
	require.False(t, o.GetGivesStates())
	x.one(1)
	x.acknowledged(1)
	require.NoError(t, x.stream.CloseSend())
	plain.stop()
	c := startOn(t, j, func(o *Options) { o.StateTransfer = &StateTransfer{Transfers: checkpoint.NewTransfers()} })
	c.journal = j
	for taken := range uint64(2) {
		x, o = carry(t, c, 1, 7)
		assert.True(t, o.GetGivesStates())
		assert.Equal(t, taken+1, o.GetTakenSequence())
		x.one(taken + 2)
		x.acknowledged(taken + 2) // and the control record before it
	}
	c.stop()
	assert.Len(t, c.moves(), 1)
	require.NoError(t, j.Close())
}

// TestWhoCarriesNothing checks a sender without state transfer, and one whose collector exports no states.
func TestWhoCarriesNothing(t *testing.T) {
	c, _ := carrying(t)
	x := export(t, c.dial())
	o := x.receive().GetOpened()
	assert.False(t, o.GetGivesStates())
	x.one(1)
	x.acknowledged(1)
	y, o := carry(t, start(t, nil), 5, 7)
	assert.False(t, o.GetGivesStates() || o.GetWantsState())
	y.one(1)
	y.acknowledged(1)
}
