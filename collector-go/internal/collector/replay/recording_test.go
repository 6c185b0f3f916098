package replay

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

const recordedMs = 1_795_000_000_000

// recorded returns the bytes of a recording with two streams.
func recorded(t *testing.T) ([]Event, []byte) {
	open := &pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "t", Host: "h", Port: 1}}}
	batch := &pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: &pb.Batch{Sequence: 1, SendTimeMs: recordedMs}}}
	events := []Event{{AtMs: recordedMs, Stream: 1, Request: open}, {AtMs: recordedMs, Stream: 2, Request: open},
		{AtMs: recordedMs + 500, Stream: 1, Request: batch}, {AtMs: recordedMs + 9000, Stream: 2}}
	var out bytes.Buffer
	r, err := NewRecorder(&out)
	require.NoError(t, err)
	for _, e := range events {
		require.NoError(t, r.Write(e))
	}
	require.NoError(t, r.Close())
	return events, out.Bytes()
}

func TestARecordingIsReadAsItWasWritten(t *testing.T) {
	want, text := recorded(t)
	got, err := ReadRecording(bytes.NewReader(text))
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range want {
		assert.Equal(t, want[i].AtMs, got[i].AtMs)
		assert.Equal(t, want[i].Stream, got[i].Stream)
		assert.Equal(t, want[i].Request == nil, got[i].Request == nil)
		if want[i].Request != nil {
			assert.True(t, proto.Equal(want[i].Request, got[i].Request), "event %d", i)
		}
	}
}

func TestADamagedRecordingIsRefused(t *testing.T) {
	_, text := recorded(t)
	for cut := 1; cut < len(text); cut++ {
		_, err := ReadRecording(bytes.NewReader(text[:cut]))
		assert.Error(t, err, "cut at %d of %d", cut, len(text))
	}
	_, err := ReadRecording(strings.NewReader("not a recording"))
	assert.Error(t, err)
}

// Every time of the schema is moved, also one that is added later: a field whose name says that it is a time since
// 1970.
func TestEveryTimeOfABatchIsMoved(t *testing.T) {
	const by = 1234
	b := &pb.Batch{}
	filled := fillTimes(b.ProtoReflect(), recordedMs, 0)
	require.Greater(t, filled, 10)
	ShiftTimes(b.ProtoReflect(), by)
	moved := 0
	each(b.ProtoReflect(), func(ms int64) {
		if ms >= leastTimeMs {
			assert.Equal(t, int64(recordedMs+by), ms)
			moved++
		} else {
			assert.Equal(t, int64(7), ms, "an offset or a duration stays")
		}
	})
	assert.Equal(t, filled, moved)
}

// fillTimes sets every field of 64 bits with ms, at any depth: times to at, and others to 7. It returns how many are
// times.
func fillTimes(m protoreflect.Message, at int64, depth int) (times int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		is := strings.HasSuffix(string(f.Name()), "time_ms") || strings.HasSuffix(string(f.Name()), "times_ms")
		switch {
		case f.IsMap() || depth > 6 || f.ContainingOneof() != nil && f.ContainingOneof().Fields().Len() > 1 &&
			f.ContainingOneof().Fields().Get(0) != f:
		case f.Message() != nil && f.IsList():
			times += fillTimes(m.Mutable(f).List().AppendMutable().Message(), at, depth+1)
		case f.Message() != nil:
			times += fillTimes(m.Mutable(f).Message(), at, depth+1)
		case f.Kind() != protoreflect.Int64Kind || !strings.HasSuffix(string(f.Name()), "_ms"):
		case f.IsList() && is:
			m.Mutable(f).List().Append(protoreflect.ValueOfInt64(at))
			times++
		case f.IsList():
			m.Mutable(f).List().Append(protoreflect.ValueOfInt64(7))
		case is:
			m.Set(f, protoreflect.ValueOfInt64(at))
			times++
		default:
			m.Set(f, protoreflect.ValueOfInt64(7))
		}
	}
	return times
}

// each calls a function with every field of 64 bits in ms, at any depth.
func each(m protoreflect.Message, found func(ms int64)) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
		case f.Message() != nil && f.IsList():
			for i := range v.List().Len() {
				each(v.List().Get(i).Message(), found)
			}
		case f.Message() != nil:
			each(v.Message(), found)
		case f.Kind() != protoreflect.Int64Kind || !strings.HasSuffix(string(f.Name()), "_ms"):
		case f.IsList():
			for i := range v.List().Len() {
				found(v.List().Get(i).Int())
			}
		default:
			found(v.Int())
		}
		return true
	})
}

// The id of a topology holds the time of its submission, which the page shows.
func TestTheTimeInATopologysIDIsMoved(t *testing.T) {
	open := &pb.Open{TopologyId: "a-topology-3-1795000000"}
	ShiftTimes(open.ProtoReflect(), 3_600_999)
	assert.Equal(t, "a-topology-3-1795003600", open.GetTopologyId())
	info := &pb.Batch{Topology: &pb.TopologyInfo{Name: "t-1-1795000000", Id: "t-1-1795000000"}}
	ShiftTimes(info.ProtoReflect(), -1000)
	assert.Equal(t, "t-1-1794999999", info.GetTopology().GetId())
	assert.Equal(t, "t-1-1795000000", info.GetTopology().GetName())
	for _, without := range []string{"", "t", "bench-1-1", "t-1-x", "1795000000x"} {
		assert.Equal(t, without, shiftID(without, 1000))
	}
}
