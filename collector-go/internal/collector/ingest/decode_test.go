package ingest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// likeProto compares the decoder with proto.Unmarshal: both accept the same requests and give the same result. It also
// decodes into memory that contained another request.
func likeProto(t *testing.T, in *incoming, raw []byte) {
	in.decode(bytes.Clone(raw))
	if in.refused != nil && in.refused != errWire {
		return // refused by a bound
	}
	twin := &pb.ExportRequest{}
	if err := proto.Unmarshal(raw, twin); err != nil {
		require.ErrorIs(t, in.refused, errWire, "%x", raw)
		return
	}
	require.NoError(t, in.refused, "%x", raw)
	got, err := proto.MarshalOptions{Deterministic: true}.Marshal(&in.request) // including the bits of NaN
	require.NoError(t, err)
	want, err := proto.MarshalOptions{Deterministic: true}.Marshal(twin)
	require.NoError(t, err)
	require.Equal(t, want, got, "%x", raw)
}

// oddRequests returns requests of every kind, including some that no sender of ours would write.
func oddRequests(t testing.TB) map[string][]byte {
	full := &pb.Batch{Epoch: make([]byte, 16), Sequence: 1 << 63, OldestHeldSequence: 7, SendTimeMs: -5,
		Series: []*pb.SeriesDefinition{series(1, "heap"), series(2, "cpu")}, Samples: samples(1, 1, 2, 3),
		Drops:   []*pb.Drop{{Reason: 1, TotalSamples: 2}},
		Layouts: []*pb.Layout{{Id: 1, SeriesIds: []uint32{1, 2}}},
		Blocks: []*pb.Block{{LayoutId: 1, FirstTimeMs: -1, StepMs: 9, Count: 3, TimeOffsetsMs: []int32{0, -3, 1 << 30},
			Presence: []byte{7}, Codec: 1, Values: make([]byte, 24)},
			{LayoutId: 2, Codec: -4, Values: []byte{1}}, {}}}
	field := func(to []byte, number protowire.Number, message []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), message)
	}
	varint := func(to []byte, number protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), v)
	}
	parts, err := proto.Marshal(full)
	require.NoError(t, err)
	other, err := proto.Marshal(&pb.Batch{Sequence: 4, Epoch: []byte{1}, Samples: samples(2, 9),
		Topology: &pb.TopologyInfo{Name: "t"}})
	require.NoError(t, err)
	mixed := slices.Concat(parts, other, varint(nil, 77, 5), field(nil, 2, []byte("no number")), parts)
	notPacked := varint(varint(varint(nil, 5, 4), 5, 1<<40|3), 1, 1<<40|1)
	group := protowire.AppendTag(varint(protowire.AppendTag(nil, 9, protowire.StartGroupType), 1, 1), 9,
		protowire.EndGroupType)
	open, err := proto.Marshal(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "t"}}})
	require.NoError(t, err)
	large := &pb.Batch{Sequence: 1, Blocks: []*pb.Block{{LayoutId: 1, Values: make([]byte, 80_000)}}}
	return map[string][]byte{
		"nothing":             {},
		"an empty batch":      field(nil, 2, nil),
		"all fields":          encoded(t, full),
		"large":               encoded(t, large),
		"open":                open,
		"open behind a batch": append(encoded(t, full), open...),
		"two batches":         append(encoded(t, full), encoded(t, large)...),
		"unknown beside":      varint(encoded(t, full), 9, 1),
		"fields in turns":     field(nil, 2, mixed),
		"offsets not packed":  field(nil, 2, field(nil, 14, notPacked)),
		"offsets both ways":   field(nil, 2, field(nil, 14, append(field(nil, 5, []byte{2, 4}), notPacked...))),
		"unknown in a block": field(nil, 2,
			field(nil, 14, append(varint(field(nil, 8, []byte{1}), 200, 3), group...))),
		"block not a message": field(nil, 2, field(nil, 14, []byte{0x08})),
		"block of a number":   field(nil, 2, varint(nil, 14, 3)),
		"numbers of bytes":    field(nil, 2, field(nil, 14, field(nil, 1, []byte{3}))),
		"bytes of a number":   field(nil, 2, field(nil, 14, varint(nil, 8, 3))),
		"cut":                 encoded(t, full)[:60],
		"a long varint":       field(nil, 2, append([]byte{0x10}, bytes.Repeat([]byte{0xff}, 10)...)),
		"number out of range": field(nil, 2, protowire.AppendVarint(nil, 1<<33)),
		"number too large": field(nil, 2,
			field(nil, 14, protowire.AppendVarint(protowire.AppendVarint(nil, (1<<29)<<3), 1))),
		"text is not UTF-8": encodedBatch(field(nil, 5, field(nil, 2, []byte{0xff}))),
	}
}

func encodedBatch(batch []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), batch)
}

func TestRequestsAreDecodedAsByProto(t *testing.T) {
	again := &incoming{}
	for name, raw := range oddRequests(t) {
		t.Run(name, func(t *testing.T) {
			likeProto(t, &incoming{}, raw)
			likeProto(t, again, raw)
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, raw := range oddRequests(f) {
		if len(raw) < 1000 {
			f.Add(raw, encodedBatch(raw))
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		in := &incoming{}
		likeProto(t, in, first)
		likeProto(t, in, second)
	})
}

// TestBlocksKeepNoMessageThatIsMuchLarger checks that a block shares the message's bytes if it is most of the message.
// If the message is much larger, the block has a copy.
func TestBlocksKeepNoMessageThatIsMuchLarger(t *testing.T) {
	values := make([]byte, 8000)
	of := &pb.Batch{Epoch: make([]byte, 16), Sequence: 1, Blocks: []*pb.Block{{LayoutId: 1, Values: values}}}
	raw := encoded(t, of)
	within := func(in *incoming, raw []byte) bool {
		v := in.request.GetBatch().GetBlocks()[0].GetValues()
		for i := range raw {
			if &raw[i] == &v[0] {
				return true
			}
		}
		return false
	}
	in := &incoming{}
	in.decode(raw)
	require.True(t, within(in, raw))
	of.Annotations = []*pb.Annotation{{Text: string(make([]byte, 12_000))}}
	raw = encoded(t, of)
	in.decode(raw)
	require.NoError(t, in.refused)
	require.False(t, within(in, raw))
	require.Equal(t, values, in.request.GetBatch().GetBlocks()[0].GetValues())
}

// TestAMessageIsOwned checks that memory which belongs to a pool is copied.
func TestAMessageIsOwned(t *testing.T) {
	pool := mem.DefaultBufferPool()
	pooled := mem.Copy(bytes.Repeat([]byte{1}, 5000), pool)
	complete := owned(mem.BufferSlice{pooled})
	pooled.ReadOnlyData()[0] = 9
	require.Equal(t, bytes.Repeat([]byte{1}, 5000), complete)
	require.Equal(t, []byte{1, 2, 3}, owned(mem.BufferSlice{mem.SliceBuffer{1}, mem.SliceBuffer{2, 3}}))
}
