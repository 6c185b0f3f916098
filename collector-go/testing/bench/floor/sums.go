package floor

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"

	"google.golang.org/grpc/mem"
)

// message is what comes in: the transport's own memory, which is given back once it is in the log.
type message struct{ parts mem.BufferSlice }

// rawCodec hands messages over as they came.
type rawCodec struct{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	data.Ref()
	v.(*message).parts = data
	return nil
}

func (rawCodec) Name() string { return "proto" }

var errMalformed = errors.New("a message that is none")

// numberOf is the number of a message.
func numberOf(parts mem.BufferSlice) (uint32, bool) {
	var word [4]byte
	if parts.CopyTo(word[:]) != len(word) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(word[:]), true
}

// cells are a stream's sums. Each stream has its own, so that none waits for another.
type cells struct {
	mu     sync.Mutex // held while a message is added, or all are
	series int
	slices [][]cell
}

// cell is a series' slice.
type cell struct {
	sum   float64
	count uint32
}

func (s *server) newCells() *cells {
	c := &cells{series: s.Series, slices: make([][]cell, s.Slices)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cells = append(s.cells, c)
	return c
}

// row is a slice's cells.
func (c *cells) row(slice int) []cell {
	if c.slices[slice] == nil {
		c.slices[slice] = make([]cell, c.series)
	}
	return c.slices[slice]
}

// add adds a message's samples to their cells.
func (c *cells) add(all []byte) error {
	if len(all) < header {
		return errMalformed
	}
	word := func(i int) int { return int(binary.LittleEndian.Uint32(all[4*i:])) }
	first, samples, size, slice := word(1), word(2), word(3), word(4)
	body := all[header:]
	if len(body) != samples*size || slice >= len(c.slices) {
		return errMalformed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case size == 8 && first+samples <= c.series:
		addInOrder(c.row(slice)[first:first+samples], body)
		return nil
	case size == 12:
		return addNumbered(c.row(slice), body)
	}
	return errMalformed
}

// addInOrder adds a sample to each cell.
func addInOrder(row []cell, body []byte) {
	for i := range row {
		row[i].sum += math.Float64frombits(binary.LittleEndian.Uint64(body[:8]))
		row[i].count++
		body = body[8:]
	}
}

// addNumbered adds samples to the cells of the series that they name.
func addNumbered(row []cell, body []byte) error {
	for ; len(body) >= 12; body = body[12:] {
		series := binary.LittleEndian.Uint32(body)
		if int(series) >= len(row) {
			return errMalformed
		}
		c := &row[series]
		c.sum += math.Float64frombits(binary.LittleEndian.Uint64(body[4:]))
		c.count++
	}
	return nil
}

// Sums is what a floor answers: of all cells.
type Sums struct {
	Samples int     `json:"samples"`
	Sum     float64 `json:"sum"`
}

func (s *server) answer(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	all := slices.Clone(s.cells)
	s.mu.Unlock()
	var out Sums
	for _, c := range all {
		c.addTo(&out)
	}
	_ = json.NewEncoder(w).Encode(out)
}

// addTo adds all cells.
func (c *cells) addTo(out *Sums) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, row := range c.slices {
		for _, cell := range row {
			out.Samples += int(cell.count)
			out.Sum += cell.sum
		}
	}
}
