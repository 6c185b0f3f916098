package ingest

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

func TestBatchesReachTheJournal(t *testing.T) {
	c := start(t, nil)
	s := opened(t, c.dial())
	histogram := &pb.HistogramSample{SeriesId: 2, TimeMs: time.Now().UnixMilli(), Schema: 3, Count: 5,
		ZeroCount: 1, Sum: 2,
		PositiveSpans: []*pb.BucketSpan{{Offset: -3, Length: 2}}, PositiveCounts: []uint64{1, 3}}
	s.batch(&pb.Batch{Sequence: 1, SendTimeMs: time.Now().UnixMilli(), Series: []*pb.SeriesDefinition{series(1, "heap"),
		{Id: 2, Host: "h1", Port: 6700, Component: "JoinBolt", Name: "latency", Shape: pb.Shape_SHAPE_HISTOGRAM}},
		Samples: samples(1, 4, 0.25), Histograms: []*pb.HistogramSample{histogram},
		Drops: []*pb.Drop{{Reason: pb.DropReason_DROP_REASON_QUEUE_FULL, TotalSamples: 9}}})
	s.batch(&pb.Batch{Sequence: 2, Samples: samples(1, 5)})
	require.Empty(t, s.acknowledged(2))
	require.NoError(t, s.stream.CloseSend())
	_, err := s.stream.Recv()
	require.ErrorIs(t, err, io.EOF)

	batches := c.batches()
	require.Len(t, batches, 2)
	require.Equal(t, []float64{4, 0.25}, batches[0].Values)
	require.Equal(t, journal.Epoch(s.epoch), batches[0].Epoch)
	require.Len(t, batches[0].Histograms, 1)
	require.Equal(t, uint64(9), batches[0].Notes.GetDrops()[0].GetTotalSamples())
	require.Equal(t, Totals{Received: 4, Journaled: 4, Rejected: map[pb.RejectionReason]uint64{}}, c.server.Totals())
}

func TestStreamsAreMarked(t *testing.T) {
	c := start(t, nil)
	service := c.dial()
	first, second := opened(t, service), opened(t, service) // one producer twice, as after a reconnect
	require.NoError(t, first.stream.CloseSend())
	_, err := first.stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, second.stream.CloseSend())
	_, err = second.stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	c.stop()
	require.NoError(t, c.journal.Close())
	var controls []string
	for _, entry := range c.entriesAfterClose() {
		switch entry.(type) {
		case *journal.Connected:
			controls = append(controls, "connected")
		case *journal.Disconnected:
			controls = append(controls, "disconnected")
		}
	}
	require.Equal(t, []string{"connected", "connected", "disconnected"}, controls)
}

// entriesAfterClose returns all entries of a closed journal.
func (c *collector) entriesAfterClose() (all []journal.Entry) {
	reader, err := c.journal.Reader(0)
	require.NoError(c.t, err)
	defer reader.Close()
	for {
		_, entry, err := reader.Next(context.Background())
		if errors.Is(err, journal.ErrClosed) {
			return all
		}
		require.NoError(c.t, err)
		if b, is := entry.(*journal.Batch); is {
			entry = b.Retained()
		}
		all = append(all, entry)
	}
}

func TestABatchSentAgainIsTakenOnce(t *testing.T) {
	c := start(t, nil)
	service := c.dial()
	first := opened(t, service)
	first.batch(&pb.Batch{Sequence: 1, Series: []*pb.SeriesDefinition{series(1, "heap")}, Samples: samples(1, 1, 2)})
	first.acknowledged(1)

	second := opened(t, service)
	second.epoch = first.epoch
	second.batch(&pb.Batch{Sequence: 1, Series: []*pb.SeriesDefinition{series(9, "heap")}, Samples: samples(9, 1, 2)})
	second.batch(&pb.Batch{Sequence: 2, OldestHeldSequence: 1, Samples: samples(9, 3)})
	second.acknowledged(2)
	require.Len(t, c.batches(), 2)
	require.Equal(t, Totals{Received: 5, Journaled: 3, Deduplicated: 2, Rejected: map[pb.RejectionReason]uint64{}},
		c.server.Totals())
}

func TestBadSamplesAreRejectedByName(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := start(t, func(o *Options) { o.MaxTopologySeries, o.MaxStreamSeries, o.Registerer = 3, 100, registry })
	s := opened(t, c.dial())
	year := int64(365 * 24 * time.Hour / time.Millisecond)
	columns := samples(1, 1, math.NaN(), math.Inf(-1), 1, 1, 1, 1, 1)
	columns.TimeOffsetsMs[3] = year
	columns.TimeOffsetsMs[4] = -year
	columns.TimeOffsetsMs[5] = math.MaxInt64
	columns.SeriesIds[6], columns.SeriesIds[7] = 77, 2
	columns.SeriesIds = append(columns.SeriesIds, 5)
	columns.TimeOffsetsMs = append(columns.TimeOffsetsMs, 0)
	columns.Values = append(columns.Values, 1)
	s.batch(&pb.Batch{Sequence: 1, Samples: columns, Series: []*pb.SeriesDefinition{
		series(1, "heap"), series(2, ""), {Id: 3, Host: "h1", Component: "JoinBolt", Name: "latency",
			Shape: pb.Shape_SHAPE_HISTOGRAM},
		series(4, "third"), series(5, "one too many")},
		Histograms: []*pb.HistogramSample{{SeriesId: 3, TimeMs: time.Now().UnixMilli(), Count: 3}}})
	got := map[pb.RejectionReason]uint64{}
	for _, r := range s.acknowledged(1) {
		require.NotEmpty(t, r.GetExample())
		require.Equal(t, uint64(1), r.GetSequence())
		got[r.GetReason()] = r.GetSamples()
	}
	require.Equal(t, map[pb.RejectionReason]uint64{
		pb.RejectionReason_REJECTION_REASON_NOT_A_NUMBER:   2,
		pb.RejectionReason_REJECTION_REASON_FUTURE:         2,
		pb.RejectionReason_REJECTION_REASON_TOO_OLD:        1,
		pb.RejectionReason_REJECTION_REASON_UNKNOWN_SERIES: 1,
		pb.RejectionReason_REJECTION_REASON_BAD_SERIES:     1,
		pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT:   1,
		pb.RejectionReason_REJECTION_REASON_BAD_HISTOGRAM:  1,
	}, got)
	totals := c.server.Totals()
	require.Equal(t, uint64(1), totals.Journaled)
	require.Zero(t, totals.Balance())
	require.Equal(t, []float64{1}, c.batches()[0].Values, "the rest of the batch is taken")
	require.Equal(t, 2.0,
		testutil.ToFloat64(c.server.stats.rejected[pb.RejectionReason_REJECTION_REASON_NOT_A_NUMBER]))
}

// TestAStreamThatBreaksTheProtocolEndsAlone sends each kind of violation on a separate stream beside a good one.
func TestAStreamThatBreaksTheProtocolEndsAlone(t *testing.T) {
	c := start(t, func(o *Options) { o.MaxBatchBytes = 64 << 10 })
	service := c.dial()
	good := opened(t, service)
	good.batch(&pb.Batch{Sequence: 1, Series: []*pb.SeriesDefinition{series(1, "heap")}, Samples: samples(1, 1)})
	good.acknowledged(1)

	epoch := make([]byte, 16)
	unequal := samples(1, 1, 2)
	unequal.Values = unequal.Values[:1]
	for name, bad := range map[string]struct {
		batch   *pb.Batch
		message string
	}{
		"unequal columns": {&pb.Batch{Epoch: epoch, Sequence: 1, OldestHeldSequence: 1, Samples: unequal},
			"columns must be of equal length"},
		"short epoch": {&pb.Batch{Epoch: epoch[:3], Sequence: 1, OldestHeldSequence: 1},
			"batch.epoch has 3 bytes"},
		"no sequence":    {&pb.Batch{Epoch: epoch}, "batch.sequence is 0"},
		"no oldest held": {&pb.Batch{Epoch: epoch, Sequence: 3}, "batch.oldest_held_sequence is 0"},
		"oldest held ahead": {&pb.Batch{Epoch: epoch, Sequence: 3, OldestHeldSequence: 4},
			"batch.oldest_held_sequence is 4"},
		"id 0": {&pb.Batch{Epoch: epoch, Sequence: 1, OldestHeldSequence: 1,
			Series: []*pb.SeriesDefinition{series(0, "x")}}, "ids start at 1"},
		"id redefined": {&pb.Batch{Epoch: epoch, Sequence: 1, OldestHeldSequence: 1,
			Series: []*pb.SeriesDefinition{series(1, "x"), series(1, "y")}}, "already defined"},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, service)
			s.send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: bad.batch}})
			s.fails(codes.InvalidArgument, bad.message)
		})
	}
	t.Run("oversize", func(t *testing.T) {
		s := opened(t, service)
		s.batch(&pb.Batch{Sequence: 1, Annotations: []*pb.Annotation{{Text: string(make([]byte, 1<<20))}}})
		s.fails(codes.ResourceExhausted, "message larger than max")
	})
	t.Run("garbage", func(t *testing.T) {
		s := opened(t, service, grpc.ForceCodecV2(rawCodec{}))
		require.NoError(t, s.stream.SendMsg([]byte{0xff, 0xff, 0xff, 1, 2, 3}))
		s.fails(codes.InvalidArgument, "must be a valid Batch")
	})
	t.Run("open twice", func(t *testing.T) {
		s := opened(t, service)
		s.send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "t", Host: "h"}}})
		s.fails(codes.InvalidArgument, "must be a valid Batch")
	})
	t.Run("new epoch", func(t *testing.T) {
		s := opened(t, service)
		s.batch(&pb.Batch{Sequence: 1})
		s.epoch = epoch
		s.batch(&pb.Batch{Sequence: 1})
		s.fails(codes.InvalidArgument, "epoch changed")
	})

	good.batch(&pb.Batch{Sequence: 2, Samples: samples(1, 2)})
	good.acknowledged(2)
}

// rawCodec sends byte slices unchanged, and everything else as protobuf.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if raw, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}

func TestOpenIsChecked(t *testing.T) {
	c := start(t, func(o *Options) { o.OpenTimeout = 200 * time.Millisecond })
	service := c.dial()
	for message, open := range map[string]*pb.Open{
		"open.topology is empty":      {Host: "h"},
		"open.host is empty":          {Topology: "t"},
		"open.port is 70000":          {Topology: "t", Host: "h", Port: 70_000},
		"open.topology has 600 bytes": {Topology: string(make([]byte, 600)), Host: "h"},
		"open.host contains a NUL":    {Topology: "t", Host: "a\x00b"},
	} {
		stream, err := service.Export(t.Context())
		require.NoError(t, err)
		s := &client{t: t, stream: stream}
		s.send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: open}})
		s.fails(codes.InvalidArgument, message)
	}
	stream, err := service.Export(t.Context())
	require.NoError(t, err)
	silent := &client{t: t, stream: stream}
	silent.fails(codes.InvalidArgument, "no Open message arrived")

	stream, err = service.Export(t.Context())
	require.NoError(t, err)
	early := &client{t: t, stream: stream, epoch: make([]byte, 16)}
	early.batch(&pb.Batch{Sequence: 1})
	early.fails(codes.InvalidArgument, "must be a valid Open")
}

// TestClosingAcknowledges stops the collector while batches are in flight. Appended batches are acknowledged first.
func TestClosingAcknowledges(t *testing.T) {
	slow := newHeldJournal()
	c := startOn(t, slow, nil)
	s := opened(t, c.dial())
	s.batch(&pb.Batch{Sequence: 1})
	<-slow.appended
	stopped := make(chan struct{})
	go func() { defer close(stopped); c.stop() }()
	<-c.server.closing
	slow.answer(nil)
	s.acknowledged(1)
	s.fails(codes.Unavailable, "shutting down")
	<-stopped
}

func TestFullIsSaidInTheStream(t *testing.T) {
	slow := newHeldJournal()
	c := startOn(t, slow, nil)
	defer c.stop()
	s := opened(t, c.dial())
	s.batch(&pb.Batch{Sequence: 1, Samples: samples(1, 5), Series: []*pb.SeriesDefinition{series(1, "heap")}})
	<-slow.appended
	slow.answer(&journal.FullError{Reason: "write", RetryAfter: 70 * time.Millisecond})
	full := s.receive().GetFull()
	require.Equal(t, uint64(1), full.GetSequence())
	require.Equal(t, uint32(70), full.GetRetryAfterMs())
	s.batch(&pb.Batch{Sequence: 2, OldestHeldSequence: 1, Samples: samples(1, 6)}) // was in flight
	s.batch(&pb.Batch{Sequence: 1, Samples: samples(1, 5)})
	require.Equal(t, uint64(1), <-slow.appended)
	slow.answer(nil)
	s.acknowledged(1)
	require.Equal(t, uint64(1), c.server.Totals().Received, "the one under way was skipped")
}

// heldJournal answers only when the test releases it.
type heldJournal struct {
	*slowJournal
	appended chan uint64
	done     chan func(error)
}

func newHeldJournal() *heldJournal {
	return &heldJournal{newSlowJournal(), make(chan uint64, 100), make(chan func(error), 100)}
}

func (j *heldJournal) Append(b *journal.Batch, done func(error)) (bool, error) {
	j.done <- done
	j.appended <- b.Sequence
	return false, nil
}

func (j *heldJournal) answer(err error) { (<-j.done)(err) }

func TestStreamsAreLimited(t *testing.T) {
	c := start(t, func(o *Options) { o.MaxStreams = 1 })
	service := c.dial()
	first := opened(t, service)
	st := export(t, service).fails(codes.ResourceExhausted, "the collector accepts no more streams (limits.streams): all 1 slots are in use")
	require.Len(t, st.Details(), 1, "RetryInfo has the time after which to retry")
	require.NoError(t, first.stream.CloseSend())
	_, err := first.stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	opened(t, service)
}
