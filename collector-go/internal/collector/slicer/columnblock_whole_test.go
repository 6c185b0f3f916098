package slicer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sheets fold to the bits that each column by itself folds to, with zeros of either sign, however many rows there are.
func TestAColumnBlockFoldsAsItsColumnsDo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := []float64{0, math.Copysign(0, -1), 1, -1, math.MaxFloat64, -math.MaxFloat64,
		math.SmallestNonzeroFloat64, 0.1, 1e300}
	const columns = columnsTogether + 7
	for rows := 2; rows < 12; rows++ {
		x := randomColumnBlock(random, rows, columns, some)
		x.fold(columns, nil)
		s, spread := &Slicer{}, newOutput()
		spread.spread = true
		for column := range columns {
			var samples []float64
			for values := range x.inTime {
				samples = append(samples, values[column])
			}
			s.closed.Reset()
			s.foldGauge(spread, samples, 1)
			for i, got := range []float64{x.means[column], x.least[column], x.greatest[column]} {
				require.Equal(t, math.Float64bits(s.closed.Values[i]), math.Float64bits(got), "%v", samples)
			}
		}
	}
}

// randomColumnBlock has its rows in no order of arrival.
func randomColumnBlock(random *rand.Rand, rows, columns int, some []float64) *columnBlock {
	x := &columnBlock{placed: make([]int32, 2*rows)}
	for _, row := range random.Perm(2 * rows)[:rows] {
		values := make([]float64, columns)
		for i := range values {
			values[i] = some[random.IntN(len(some))]
		}
		x.rows = append(x.rows, columnBlockRow{origin{}, row, values})
		x.placed[row] = int32(len(x.rows))
	}
	return x
}

func BenchmarkColumnBlock(b *testing.B) {
	const rows, columns = 60, 10_000
	x := randomColumnBlock(rand.New(rand.NewPCG(1, 2)), rows, columns, []float64{3, 4, 5, 6, 7, 8})
	for b.Loop() {
		x.folded = false
		x.fold(columns, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows*columns), "ns/sample")
}
