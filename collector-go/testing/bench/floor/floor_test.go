package floor

import (
	"encoding/binary"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// What was sent is counted and added up, with either size of a sample, over streams that end.
func TestTheFloorHasWhatWasSent(t *testing.T) {
	for _, size := range []int{8, 12} {
		p, address := start(t, Options{LogBytes: 4096, Series: 70, Slices: 3})
		rows := bench.NewRows(1, 7, 10)
		sent, err := Send(t.Context(), address, rows, Load{Streams: 2, PerMessage: 2, Steps: 9, StepsASlice: 3,
			SampleBytes: size, InFlight: 2, Pace: 5 * time.Millisecond})
		require.NoError(t, err)
		const samples = 7 * 10 * 9
		assert.Greater(t, int(sent.Bytes), samples*size)
		assert.Positive(t, sent.Ack.P50)
		body, err := p.Get(t.Context(), "/sums")
		require.NoError(t, err)
		var got Sums
		require.NoError(t, json.Unmarshal(body, &got))
		assert.Equal(t, Sums{samples, sent.Sum}, got)
	}
}

func TestAFloorRefusesWhatIsNoMessage(t *testing.T) {
	c := (&server{Options: Options{Series: 2, Slices: 1}}).newCells()
	for _, m := range [][]byte{
		{},
		message32(1, 0, 1, 8, 0), // no sample
		append(message32(1, 2, 1, 8, 0), eight...),                            // a series beyond the last
		append(message32(1, 0, 1, 8, 1), eight...),                            // a slice beyond the last
		append(message32(1, 0, 2, 4, 0), eight...),                            // samples of four bytes
		append(message32(1, 0, 1, 12, 0), 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), // a series beyond the last
	} {
		assert.ErrorIs(t, c.add(m), errMalformed, "%v", m)
	}
}

var eight = make([]byte, 8)

// message32 is a header.
func message32(words ...uint32) []byte {
	out := make([]byte, header)
	for i, w := range words {
		binary.LittleEndian.PutUint32(out[4*i:], w)
	}
	return out
}
