package block

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var anyValue = rapid.OneOf(rapid.Float64(), rapid.Map(rapid.IntRange(-5, 1<<40), func(i int) float64 {
	return float64(i)
}),
	rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}))

func drawBlock(t *rapid.T) (*Block, []float64) {
	b := &Block{Columns: rapid.IntRange(1, 40).Draw(t, "columns"), Rows: rapid.IntRange(1, 40).Draw(t, "rows"),
		FirstMs: 1000, StepMs: 10}
	n := b.Cells()
	if rapid.Bool().Draw(t, "sparse") {
		b.Presence = make([]byte, (n+7)/8)
		n = 0
		for cell := range b.Cells() {
			if rapid.Bool().Draw(t, "present") {
				b.Presence[cell/8] |= 1 << (cell % 8)
				n++
			}
		}
	}
	values := rapid.SliceOfN(anyValue, n, n).Draw(t, "values")
	if b.Codec = rapid.SampledFrom([]Codec{Doubles, Trimmed}).Draw(t, "codec"); b.Codec == Doubles {
		b.Values = AppendDoubles(nil, values)
	} else {
		b.Values = AppendTrimmed(nil, values)
	}
	return b, values
}

// Decoding returns exactly what was encoded. A block with missing or additional bytes is refused.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, values := drawBlock(t)
		require.NoError(t, b.Check())
		require.Equal(t, len(values), b.Samples())
		got := b.Floats([]float64{7})
		require.Equal(t, 7.0, got[0])
		require.True(t, slices.EqualFunc(values, got[1:], func(x, y float64) bool {
			return math.Float64bits(x) == math.Float64bits(y)
		}))
		require.Equal(t, slices.IndexFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }),
			b.FirstNonNumber())

		longer := *b
		longer.Values = append(slices.Clone(b.Values), 0)
		require.Error(t, longer.Check())
		if len(b.Values) > 0 {
			shorter := *b
			shorter.Values = b.Values[:len(b.Values)-1]
			require.Error(t, shorter.Check())
		}
	})
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	good := func() *Block {
		return &Block{Columns: 3, Rows: 1, FirstMs: 5, Codec: Doubles, Values: make([]byte, 24)}
	}
	require.NoError(t, good().Check())
	for want, change := range map[string]func(*Block){
		"its layout has 0 series":      func(b *Block) { b.Columns = 0 },
		"count is 0":                   func(b *Block) { b.Rows = 0 },
		"count is 5000":                func(b *Block) { b.Rows = 5000 },
		"limit of 1048576 cells":       func(b *Block) { b.Columns, b.Rows = 65_536, 17 },
		"step_ms is 0":                 func(b *Block) { b.Rows = 2 },
		"2 time_offsets_ms for 1 rows": func(b *Block) { b.OffsetsMs = make([]int32, 2) },
		"row 1 at 4 ms is not after row 0": func(b *Block) {
			b.Rows, b.StepMs, b.OffsetsMs = 2, 1, []int32{0, -2}
		},
		"presence has 2 bytes; it must have 1":         func(b *Block) { b.Presence = make([]byte, 2) },
		"bits set after its last cell":                 func(b *Block) { b.Presence = []byte{0x0f} },
		"values has 24 bytes; it must have 8 for 1":    func(b *Block) { b.Presence = []byte{0x02} },
		"codec 9 is unknown":                           func(b *Block) { b.Codec = 9 },
		"value 0 is 9 bytes wide":                      func(b *Block) { b.Codec, b.Values = Trimmed, []byte{9, 0} },
		"a width after its last one":                   func(b *Block) { b.Codec, b.Values = Trimmed, []byte{0, 0x10} },
		"values has 1 bytes, but the widths of 3":      func(b *Block) { b.Codec, b.Values = Trimmed, []byte{0} },
		"values has 3 bytes, but its widths add up to": func(b *Block) { b.Codec, b.Values = Trimmed, []byte{0, 0, 1} },
	} {
		b := good()
		change(b)
		assert.ErrorContains(t, b.Check(), want)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(3, 2, []byte{0x3f}, uint8(1), make([]byte, 48))
	f.Add(3, 1, []byte(nil), uint8(2), []byte{0x22, 0x02, 0x40, 0, 0x40, 0, 0x40, 0})
	f.Fuzz(func(t *testing.T, columns, rows int, presence []byte, codec uint8, values []byte) {
		b := &Block{Columns: columns, Rows: rows, StepMs: 1, Presence: presence, Codec: Codec(codec), Values: values}
		if b.Check() != nil {
			return
		}
		got := b.Floats(nil)
		require.Len(t, got, b.Samples())
		require.Equal(t, slices.IndexFunc(got, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }),
			b.FirstNonNumber())
	})
}

func BenchmarkFloats(b *testing.B) {
	values := make([]float64, 10_000)
	for i := range values {
		values[i] = float64(i % 101)
	}
	for name, blk := range map[string]*Block{
		"doubles": {Columns: len(values), Rows: 1, Codec: Doubles, Values: AppendDoubles(nil, values)},
		"trimmed": {Columns: len(values), Rows: 1, Codec: Trimmed, Values: AppendTrimmed(nil, values)},
	} {
		b.Run(name, func(b *testing.B) {
			var to []float64
			for b.Loop() {
				if blk.FirstNonNumber() >= 0 {
					b.Fatal("a number is not one")
				}
				to = blk.Floats(to[:0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(values)), "ns/sample")
		})
	}
}
