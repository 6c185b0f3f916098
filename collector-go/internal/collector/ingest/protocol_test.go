package ingest

import (
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// The statements of the schema's comments about the protocol. Each is tested here unless another test does.

// grouped formats a number as the schema's comments do.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// TestTheSchemaStatesOurNumbers checks that every number in the comments equals ours.
func TestTheSchemaStatesOurNumbers(t *testing.T) {
	var comments strings.Builder
	for _, file := range []string{"data", "service"} {
		text, err := os.ReadFile("../../../../proto/bulletmetrics/v1/" + file + ".proto")
		require.NoError(t, err)
		comments.WriteString(regexp.MustCompile(`\s*\n\s*//\s*`).ReplaceAllString(string(text), " "))
	}
	o := DefaultOptions()
	seconds := func(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }
	for _, states := range []string{
		"a text has at most " + grouped(maxNameBytes) + " bytes",
		"at most " + grouped(maxDefinitions) + " definitions, " + grouped(maxBatchLayouts) + " layouts and " +
			grouped(maxBatchBlocks) + " blocks of together " +
			grouped(maxBatchCells) + " cells, " + grouped(maxBatchSamples) + " samples in columns, " +
			grouped(maxBatchHistograms) + " histograms of together " +
			grouped(maxBatchBuckets) + " buckets, " + grouped(maxDrops) + " drops, " + grouped(maxGaps) + " gaps, " +
			grouped(maxWorkers) + " workers, " +
			grouped(maxAnnotations) + " annotations",
		"at most " + fmt.Sprint(maxKeyDepth) + " and none empty",
		"Port of that worker, at most " + grouped(maxPort),
		"each version has at most " + grouped(maxVersionBytes) + " bytes",
		"at most " + grouped(maxComponents) + ", with " + grouped(maxTasks) + " tasks and " + grouped(maxInputs) +
			" inputs in all",
		"At most " + grouped(maxSettings) + ", each value of at most " + fmt.Sprint(maxSettingBytes>>10) + " KiB",
		"One line, at most " + grouped(maxTitleBytes) + " bytes", "at most " + fmt.Sprint(maxTextBytes>>10) + " KiB",
		"At most " + fmt.Sprint(maxTags/maxAnnotations) + ", each of at most " + fmt.Sprint(maxTagBytes) + " bytes",
		"At most " + fmt.Sprint(maxAnnotationID) + " bytes",
		"The Open must come within " + seconds(o.OpenTimeout),
		fmt.Sprintf("The collector takes %d streams in all and %d a connection", o.MaxStreams,
			o.MaxStreamsPerConnection),
		"silent for " + seconds(o.PingAfter) + " and closes it when no answer comes within " + seconds(o.PingTimeout),
		"a client may ping every " + seconds(leastPing),
		"A connection without a stream is closed after " + seconds(o.MaxIdle),
		"as many layouts as one may (" + grouped(maxStreamLayouts) + ", or " + grouped(maxStreamLayoutColumns) +
			" series in all of them)",
		fmt.Sprintf("more than %d hours behind the collector's clock or more than %d minutes ahead of it",
			int(o.MaxAge.Hours()), int(o.MaxAhead.Minutes())),
		"as many series as it may have (" + grouped(o.MaxTopologySeries) + " unless set otherwise",
	} {
		require.True(t, strings.Contains(comments.String(), states), states)
	}
}

// TestWhatABatchMayBe checks that sequences may have gaps, batches may be empty, and reported gaps are kept. A batch
// that is sent again is recognised by epoch and sequence alone, may have another content, and its definitions count.
func TestWhatABatchMayBe(t *testing.T) {
	c := start(t, nil)
	s := opened(t, c.dial())
	s.batch(&pb.Batch{Sequence: 3})
	s.acknowledged(3)
	s.batch(&pb.Batch{Sequence: 900, Series: []*pb.SeriesDefinition{series(1, "heap")}, Samples: samples(1, 1, 2),
		Gaps: []*pb.Gap{{StartTimeMs: 1, EndTimeMs: 2}}})
	s.acknowledged(900)
	again := opened(t, c.dial())
	again.epoch = s.epoch
	again.batch(&pb.Batch{Sequence: 900, Series: []*pb.SeriesDefinition{series(7, "heap")},
		Layouts: []*pb.Layout{{Id: 1, SeriesIds: []uint32{7}}},
		Blocks: []*pb.Block{{LayoutId: 1, FirstTimeMs: time.Now().UnixMilli(), Count: 1,
			Codec: pb.ValueCodec_VALUE_CODEC_DOUBLES, Values: make([]byte, 8)}}})
	again.batch(&pb.Batch{Sequence: 901, OldestHeldSequence: 900, Samples: samples(7, 3)})
	require.Empty(t, again.acknowledged(901))
	batches := c.batches()
	require.Len(t, batches, 3)
	require.Len(t, batches[1].Notes.GetGaps(), 1)
	require.Equal(t, []float64{1, 2}, batches[1].Values, "the first copy counts")
	require.Equal(t, batches[1].IDs[0], batches[2].IDs[0], "what the second defined is the same series")
}

// TestCompressedRequests checks that requests may be compressed, and that the limit applies to the unpacked size.
func TestCompressedRequests(t *testing.T) {
	c := start(t, func(o *Options) { o.MaxBatchBytes = 64 << 10 })
	s := opened(t, c.dial(), grpc.UseCompressor(gzip.Name))
	s.batch(&pb.Batch{Sequence: 1, Series: []*pb.SeriesDefinition{series(1, "heap")}, Samples: samples(1, 1)})
	require.Empty(t, s.acknowledged(1))
	s.batch(&pb.Batch{Sequence: 2, Annotations: []*pb.Annotation{{Text: strings.Repeat("x", 1<<20)}}})
	s.fails(codes.ResourceExhausted, "larger than max")
}

// TestAHalfClosedStreamIsAcknowledged checks that batches in flight are acknowledged before a half-closed stream ends
// with OK.
func TestAHalfClosedStreamIsAcknowledged(t *testing.T) {
	slow := newHeldJournal()
	c := startOn(t, slow, nil)
	defer c.stop()
	s := opened(t, c.dial())
	s.batch(&pb.Batch{Sequence: 1})
	s.batch(&pb.Batch{Sequence: 2})
	require.NoError(t, s.stream.CloseSend())
	require.Equal(t, []uint64{1, 2}, []uint64{<-slow.appended, <-slow.appended})
	slow.answer(nil)
	s.acknowledged(1)
	slow.answer(nil)
	s.acknowledged(2)
	_, err := s.stream.Recv()
	require.ErrorIs(t, err, io.EOF)
}

// TestTheWindowIsKept checks that the collector reads no further beyond the window until it has acknowledged a batch.
func TestTheWindowIsKept(t *testing.T) {
	slow := newHeldJournal()
	c := startOn(t, slow, func(o *Options) { o.Window = 2 })
	defer c.stop()
	s := export(t, c.dial())
	require.Equal(t, uint32(2), s.receive().GetOpened().GetWindow())
	const all = 40
	for sequence := range uint64(all) {
		s.batch(&pb.Batch{Sequence: sequence + 1})
	}
	for sequence := range uint64(all) {
		require.Equal(t, sequence+1, <-slow.appended)
		if sequence > 0 { // one is always left, so that the one after the next waits
			require.LessOrEqual(t, len(slow.done), 2)
			slow.answer(nil)
			s.acknowledged(sequence)
		}
	}
	slow.answer(nil)
	s.acknowledged(all)
}

// TestPingsAreBounded checks that a client that pings too often is disconnected.
func TestPingsAreBounded(t *testing.T) {
	c := start(t, func(o *Options) { o.PingAfter, o.MaxIdle = time.Hour, time.Hour })
	connection, err := net.Dial("tcp", c.address)
	require.NoError(t, err)
	defer connection.Close()
	frames := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	_, err = io.WriteString(connection, frames+strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x00bulletpi", 5))
	require.NoError(t, err)
	closedByPeer(t, connection)
}
