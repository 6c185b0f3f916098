package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeServer accepts a given number of rows/s by clients, and rejects from a number of clients on.
type fakeServer struct {
	rows    map[int]float64
	rejects int
	fails   int
}

func (f fakeServer) measure(_ context.Context, clients int) (Step, error) {
	if clients == f.fails {
		return Step{}, errors.New("gone")
	}
	s := Step{Clients: clients, RowsPerS: f.rows[clients]}
	if f.rejects > 0 && clients >= f.rejects {
		s.Rejected = 3
	}
	return s, nil
}

func TestACurveEndsWhereTheServerIsFull(t *testing.T) {
	rising := map[int]float64{1: 100, 2: 190, 4: 350, 8: 600, 16: 900, 32: 1200}
	flat := map[int]float64{1: 100, 2: 101, 4: 102, 8: 103, 16: 104, 32: 105}
	knee := map[int]float64{1: 100, 2: 200, 4: 380, 8: 600, 16: 610, 32: 1000}
	for _, test := range []struct {
		name    string
		server  fakeServer
		clients []int
		all     bool
		steps   int
		by      string
		best    int
	}{
		{"no room", fakeServer{rows: rising, rejects: 4}, Doubled(32), false, 3, ByRejections, 2},
		{"no rise", fakeServer{rows: knee}, Doubled(32), false, 5, ByThroughput, 4},
		{"never a rise", fakeServer{rows: flat}, Doubled(32), false, 4, ByThroughput, 3},
		{"room for all", fakeServer{rows: rising}, Doubled(32), false, 6, ByClients, 5},
		{"exactly these", fakeServer{rows: knee, rejects: 1}, []int{1, 8, 16}, true, 3, ByClients, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			steps, by, err := Curve(t.Context(), test.clients, test.all, test.server.measure)
			require.NoError(t, err)
			assert.Len(t, steps, test.steps)
			assert.Equal(t, test.by, by)
			assert.Equal(t, test.best, Best(steps))
		})
	}
	steps, _, err := Curve(t.Context(), Doubled(32), false, fakeServer{rows: rising, fails: 4}.measure)
	assert.EqualError(t, err, "gone")
	assert.Len(t, steps, 2)
	assert.Equal(t, []int{1, 2, 4, 5}, Doubled(5))
	assert.Equal(t, []int{1}, Doubled(1))
}
