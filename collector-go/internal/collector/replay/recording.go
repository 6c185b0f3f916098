package replay

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// A recording has the requests of the gRPC streams that a collector received, in the order of their arrival. It is one
// zstd stream of events. An event is three varints and a request: the ms since the event before it (the first event has
// the time itself), the number of the stream, the length of the request, and the request as protobuf. An event without
// a request is the end of its stream.

// Event is an event of a recording.
type Event struct {
	AtMs   int64
	Stream uint64
	// Request is nil at the end of a stream.
	Request *pb.ExportRequest
}

// maxRequestBytes limits the size of a request, so that a damaged file is not taken for a large one.
const maxRequestBytes = 64 << 20

// Recorder writes a recording. It is not safe for concurrent use.
type Recorder struct {
	out    *zstd.Encoder
	lastMs int64
}

// NewRecorder returns a recorder that writes to w. The caller must call Close.
func NewRecorder(w io.Writer) (*Recorder, error) {
	out, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20))
	return &Recorder{out: out}, err
}

// Write appends an event. Its time must not be before that of the event before it.
func (r *Recorder) Write(e Event) error {
	var request []byte
	if e.Request != nil {
		var err error
		if request, err = proto.Marshal(e.Request); err != nil {
			return err
		}
	}
	head := binary.AppendUvarint(nil, uint64(e.AtMs-r.lastMs))
	head = binary.AppendUvarint(binary.AppendUvarint(head, e.Stream), uint64(len(request)))
	r.lastMs = e.AtMs
	_, err := r.out.Write(append(head, request...))
	return err
}

// Close writes the end of the recording.
func (r *Recorder) Close() error { return r.out.Close() }

// ReadRecording reads a whole recording. The error says which event cannot be read.
func ReadRecording(in io.Reader) (all []Event, err error) {
	decoder, err := zstd.NewReader(in)
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	reader, atMs := bufio.NewReader(decoder), int64(0)
	for {
		e, err := readEvent(reader)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("event %d of the recording: %w", len(all)+1, err)
		}
		atMs += e.AtMs
		e.AtMs = atMs
		all = append(all, e)
	}
}

// readEvent reads an event with its time as the ms since the event before it.
func readEvent(in *bufio.Reader) (e Event, err error) {
	var head [3]uint64
	for i := range head {
		if head[i], err = binary.ReadUvarint(in); err != nil {
			if i > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return e, err
		}
	}
	e.AtMs, e.Stream = int64(head[0]), head[1]
	if head[2] == 0 {
		return e, nil
	}
	if head[2] > maxRequestBytes {
		return e, fmt.Errorf("a request of %d bytes; at most %d are possible", head[2], maxRequestBytes)
	}
	text := make([]byte, head[2])
	if _, err := io.ReadFull(in, text); err != nil {
		return e, io.ErrUnexpectedEOF
	}
	e.Request = &pb.ExportRequest{}
	return e, proto.Unmarshal(text, e.Request)
}

// leastTimeMs separates times since 1970 from offsets and durations, in ms: it is a day in 2001.
const leastTimeMs = 1_000_000_000_000

// ShiftTimes adds ms to every time since 1970 in a message. The schema names such a field ..._time_ms. The id of a
// topology ends with a time, too.
func ShiftTimes(m protoreflect.Message, ms int64) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		isTime := f.Kind() == protoreflect.Int64Kind &&
			(strings.HasSuffix(string(f.Name()), "time_ms") || strings.HasSuffix(string(f.Name()), "times_ms"))
		switch {
		case f.IsMap():
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				ShiftTimes(v.List().Get(i).Message(), ms)
			}
		case f.Message() != nil:
			ShiftTimes(v.Message(), ms)
		case f.Name() == "topology_id" || f.Name() == "id" && f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(shiftID(v.String(), ms)))
		case isTime && f.IsList():
			for i := range v.List().Len() {
				if at := v.List().Get(i).Int(); at >= leastTimeMs {
					v.List().Set(i, protoreflect.ValueOfInt64(at+ms))
				}
			}
		case isTime && v.Int() >= leastTimeMs:
			m.Set(f, protoreflect.ValueOfInt64(v.Int()+ms))
		}
		return true
	})
}

// shiftID adds ms to the time in Storm's id of a topology, "name-n-seconds". The page shows it as the time of the
// submission.
func shiftID(id string, ms int64) string {
	i := strings.LastIndexByte(id, '-')
	seconds, err := strconv.ParseInt(id[i+1:], 10, 64)
	if err != nil || seconds < leastTimeMs/1000 {
		return id
	}
	return id[:i+1] + strconv.FormatInt(seconds+ms/1000, 10)
}
