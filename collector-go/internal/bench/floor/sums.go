package floor

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"os"
	"syscall"

	"google.golang.org/grpc/mem"
)

// message is what comes in: the transport's own memory, which is given back once it is in the log.
type message struct{ buffer mem.Buffer }

// rawCodec hands messages over as they came.
type rawCodec struct{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*message).buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}

func (rawCodec) Name() string { return "proto" }

var errMalformed = errors.New("a message that is none")

// add adds a message's samples to their cells.
func (s *server) add(all []byte) (number uint32, err error) {
	if len(all) < header {
		return 0, errMalformed
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(all[4*i:]) }
	first, samples, size, slice := int(word(1)), int(word(2)), int(word(3)), int(word(4))
	body := all[header:]
	if len(body) != samples*size || slice >= s.Slices || size != 8 && size != 12 || size == 8 && first+samples > s.Series {
		return 0, errMalformed
	}
	row := s.sums[slice*s.Series : (slice+1)*s.Series]
	s.cells.Lock()
	defer s.cells.Unlock()
	if size == 8 {
		row = row[first : first+samples]
		for i := range row {
			row[i].sum += math.Float64frombits(binary.LittleEndian.Uint64(body[8*i:]))
			row[i].count++
		}
		return word(0), nil
	}
	for ; len(body) >= 12; body = body[12:] {
		series := binary.LittleEndian.Uint32(body)
		if int(series) >= len(row) {
			return 0, errMalformed
		}
		row[series].sum += math.Float64frombits(binary.LittleEndian.Uint64(body[4:]))
		row[series].count++
	}
	return word(0), nil
}

// Sums is what a floor answers: of all cells.
type Sums struct {
	Samples int     `json:"samples"`
	Sum     float64 `json:"sum"`
}

func (s *server) answer(w http.ResponseWriter, _ *http.Request) {
	s.cells.Lock()
	defer s.cells.Unlock()
	var out Sums
	for _, c := range s.sums {
		out.Samples += int(c.count)
		out.Sum += c.sum
	}
	_ = json.NewEncoder(w).Encode(out)
}

// toDisk waits until a file's bytes are on disk.
func toDisk(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
