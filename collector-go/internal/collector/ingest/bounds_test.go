package ingest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

func encoded(t testing.TB, b *pb.Batch) []byte {
	raw, err := proto.Marshal(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}})
	require.NoError(t, err)
	return raw
}

// TestBoundsAreOfTheSchema checks that bounds have the names and kinds of the schema's fields with their numbers.
func TestBoundsAreOfTheSchema(t *testing.T) {
	var walk func(of *byNumber, message protoreflect.MessageDescriptor, path string)
	walk = func(of *byNumber, message protoreflect.MessageDescriptor, path string) {
		for number, b := range of {
			if b == nil {
				continue
			}
			field := message.Fields().ByNumber(protowire.Number(number))
			require.NotNil(t, field, b.name)
			require.Equal(t, path+string(field.Name()), b.name)
			require.Equal(t, field.IsPacked(), b.packed, b.name)
			require.Equal(t, b.bytes > 0, field.Kind() == protoreflect.StringKind && b.name != "batch.series.key" ||
				b.name == "batch.epoch", b.name)
			if b.inner != nil {
				walk(b.inner, field.Message(), b.name+".")
			}
		}
		for i := range message.Fields().Len() { // repeated fields need a bound, except plain numbers
			field := message.Fields().Get(i)
			if field.IsList() || field.IsMap() {
				require.True(t, of[field.Number()] != nil && of[field.Number()].most > 0 ||
					field.Kind() == protoreflect.DoubleKind, field.FullName())
			}
		}
	}
	batch := (&pb.Batch{}).ProtoReflect().Descriptor()
	walk(requestBounds[2].inner, batch, "batch.")
	for number := range batch.Fields().Len() {
		field := batch.Fields().Get(number)
		if field.Kind() == protoreflect.MessageKind && field.Name() != "drops" {
			require.NotNil(t, requestBounds[2].inner[field.Number()], field.FullName())
		}
	}
}

func repeated[T any](n int, one T) (all []T) {
	for range n {
		all = append(all, one)
	}
	return all
}

// worst returns batches with far too many notes of each kind, by the expected error.
func worst() map[string]*pb.Batch {
	const most = 1_200_000
	return map[string]*pb.Batch{
		"batch.workers has more than 4096 entries": {Workers: repeated(most/2, &pb.WorkerInfo{})},
		"batch.workers.tasks has more than 131072": {Workers: []*pb.WorkerInfo{{Tasks: make([]int32, most)}}},
		"batch.drops has more than 64":             {Drops: repeated(most/2, &pb.Drop{})},
		"batch.gaps has more than 1024":            {Gaps: repeated(most/2, &pb.Gap{})},
		"batch.series has more than 65536":         {Series: repeated(most/2, &pb.SeriesDefinition{})},
		"batch.series.key has more than 524288": {
			Series: []*pb.SeriesDefinition{{Key: make([]string, most/2)}}},
		"batch.annotations has more than 256": {Annotations: repeated(most/2, &pb.Annotation{})},
		"batch.annotations.text has 3145728 bytes": {
			Annotations: []*pb.Annotation{{Text: strings.Repeat("x", 3<<20)}}},
		"batch.annotations.title has 300 bytes": {
			Annotations: []*pb.Annotation{{Title: strings.Repeat("x", 300)}}},
		"batch.annotations.tags has more than 4096": {
			Annotations: []*pb.Annotation{{Tags: make([]string, most/2)}}},
		"batch.topology.storm_version has 3145728 bytes": {
			Topology: &pb.TopologyInfo{StormVersion: strings.Repeat("x", 3<<20)}},
		"batch.topology.plugin_version has 129 bytes": {
			Topology: &pb.TopologyInfo{PluginVersion: strings.Repeat("x", 129)}},
		"batch.topology.components has more than 4096": {
			Topology: &pb.TopologyInfo{Components: repeated(most/2, &pb.ComponentInfo{})}},
		"batch.topology.components.inputs has more than": {
			Topology: &pb.TopologyInfo{
				Components: []*pb.ComponentInfo{{Inputs: repeated(most/2-8, &pb.ComponentInput{})}}}},
		"batch.topology.settings.value has 20000 bytes": {
			Topology: &pb.TopologyInfo{Settings: map[string]string{"a": strings.Repeat("x", 20_000)}}},
		"batch.samples.time_offsets_ms has more than": {
			Samples: &pb.SampleColumns{TimeOffsetsMs: make([]int64, most)}},
		"batch.histograms has more than": {Histograms: repeated(most/2, &pb.HistogramSample{})},
		"batch.histograms.positive_spans has more than": {
			Histograms: []*pb.HistogramSample{{PositiveSpans: repeated(most/2-8, &pb.BucketSpan{})}}},
		"batch.layouts has more than":            {Layouts: repeated(most/2, &pb.Layout{})},
		"batch.layouts.series_ids has more than": {Layouts: []*pb.Layout{{SeriesIds: make([]uint32, most)}}},
		"batch.blocks has more than":             {Blocks: repeated(most/2, &pb.Block{})},
	}
}

// allocated returns how many bytes a function allocated.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestNotesAreBoundedBeforeTheyAreDecoded checks that excessive fields are refused by name before they are decoded.
func TestNotesAreBoundedBeforeTheyAreDecoded(t *testing.T) {
	for message, b := range worst() {
		raw := encoded(t, b)
		require.Less(t, len(raw), 4<<20+64)
		in := &incoming{}
		used := allocated(func() { in.decode(raw) })
		require.ErrorContains(t, in.refused, message)
		require.Less(t, used, uint64(64<<10), message)
	}
}

func TestABoundEndsTheStream(t *testing.T) {
	c := start(t, nil)
	service := c.dial()
	for message, b := range map[string]*pb.Batch{
		"batch.drops has more than 64 entries in one request": {Sequence: 1, Drops: repeated(65, &pb.Drop{})},
		"batch.annotations.title has 300 bytes, at most 256 are": {Sequence: 1,
			Annotations: []*pb.Annotation{{Title: strings.Repeat("x", 300)}}},
		"batch.topology.storm_version has 200 bytes, at most 128 ": {Sequence: 1,
			Topology: &pb.TopologyInfo{StormVersion: strings.Repeat("x", 200)}},
	} {
		s := opened(t, service)
		s.batch(b)
		s.fails(codes.InvalidArgument, message)
	}
}

// TestDefinitionsLeaveLittle checks the memory that one stream occupies after 4 MiB of definitions. For bad and surplus
// definitions and for layouts, it is less than twice their size.
func TestDefinitionsLeaveLittle(t *testing.T) {
	kept := func(b *pb.Batch) (left, sent int) {
		sent = len(encoded(t, b))
		table := testTable(newSlowJournal(), tableLimits{series: 250_000, layouts: maxStreamLayouts,
			layoutColumns: maxStreamLayoutColumns})
		var a admission
		b.Epoch, b.OldestHeldSequence, b.Sequence = make([]byte, 16), 1, 1
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.NoError(t, a.check(b, table))
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(table)
		runtime.KeepAlive(b)
		return int(after.HeapAlloc) - int(before.HeapAlloc), sent
	}
	bad, scattered := &pb.Batch{}, &pb.Batch{}
	for id := range uint32(maxDefinitions) {
		bad.Series = append(bad.Series, &pb.SeriesDefinition{Id: id + 1})
		scattered.Series = append(scattered.Series, &pb.SeriesDefinition{Id: id*65_521 + 7})
	}
	layouts := &pb.Batch{}
	for id := range uint32(8192) {
		l := &pb.Layout{Id: id + 1}
		for column := range uint32(127) {
			l.SeriesIds = append(l.SeriesIds, column+1)
		}
		layouts.Layouts = append(layouts.Layouts, l)
	}
	for name, b := range map[string]*pb.Batch{"bad": bad, "layouts": layouts} {
		left, sent := kept(b)
		require.Less(t, left, 2*max(sent, 1<<20), name)
	}
	left, _ := kept(scattered)
	require.Less(t, left, 8<<20, "scattered ids")
}

// TestLayoutsOfAStreamAreBounded checks that a stream that exceeds its limit of layouts ends, so that a new one can
// continue.
func TestLayoutsOfAStreamAreBounded(t *testing.T) {
	table := testTable(newSlowJournal(), tableLimits{series: 10, layouts: 2, layoutColumns: 5})
	require.NoError(t, table.addLayouts([]*pb.Layout{{Id: 1, SeriesIds: []uint32{1, 2}},
		{Id: 1, SeriesIds: []uint32{1, 2}}, {Id: 2, SeriesIds: []uint32{1}}}))
	require.ErrorIs(t, table.addLayouts([]*pb.Layout{{Id: 3, SeriesIds: []uint32{1}}}), errLayouts)
	table = testTable(newSlowJournal(), tableLimits{series: 10, layouts: 2, layoutColumns: 5})
	require.ErrorIs(t, table.addLayouts([]*pb.Layout{{Id: 1, SeriesIds: []uint32{1, 2, 3, 4, 5, 6}}}), errLayouts)
}

func FuzzBounds(f *testing.F) {
	f.Add([]byte{0x12, 0x02, 0x2a, 0x00})
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := &incoming{}
		in.decode(raw)
		if in.refused == nil {
			require.NoError(t, proto.Unmarshal(raw, &pb.ExportRequest{}))
			require.LessOrEqual(t, len(in.request.GetBatch().GetWorkers()), maxWorkers)
		}
	})
}

// TestAStrangersClient uses a client that was written from proto/ alone and shares no code with ours.
func TestAStrangersClient(t *testing.T) {
	c := start(t, nil)
	stream := opened(t, c.dial(), grpc.ForceCodecV2(rawCodec{})).stream
	field := func(to []byte, number protowire.Number, message []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), message)
	}
	varint := func(to []byte, number protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), v)
	}
	now := uint64(c.server.o.Now().UnixMilli())
	definition := varint(nil, 1, 1)
	definition = field(definition, 2, []byte("some-host"))
	definition = field(definition, 4, []byte("sensors"))
	definition = field(definition, 6, []byte("temperature"))
	definition = varint(definition, 8, 1000)
	definition = varint(definition, 9, 1) // a gauge
	layout := field(varint(nil, 1, 1), 2, []byte{1})
	of := varint(nil, 1, 1)
	of = varint(of, 2, now-2000)
	of = varint(of, 3, 1000)
	of = varint(of, 4, 2)
	of = varint(of, 7, 2)                                         // trimmed: two bytes and three
	of = field(of, 8, []byte{0x32, 0x40, 0x35, 0x40, 0x35, 0x80}) // 21 and 21.5
	batch := field(nil, 1, []byte("0123456789abcdef"))
	batch = varint(batch, 2, 17)
	batch = varint(batch, 3, 17)
	batch = varint(batch, 4, now)
	batch = field(batch, 5, definition)
	batch = field(batch, 13, layout)
	batch = field(batch, 14, of)
	require.NoError(t, stream.SendMsg(field(nil, 2, batch)))
	response, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, uint64(17), response.GetAcknowledgement().GetSequence())
	require.Empty(t, response.GetAcknowledgement().GetRejections())
	require.NoError(t, stream.CloseSend())
	batches := c.batches()
	require.Len(t, batches, 1)
	require.Equal(t, 2, batches[0].Samples())
	require.Equal(t, journal.Epoch([]byte("0123456789abcdef")), batches[0].Epoch)
}
