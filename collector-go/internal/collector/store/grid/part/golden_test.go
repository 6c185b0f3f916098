package part

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

var update = flag.Bool("update", false, "write the golden part of this version again")

// goldenSeries has every kind of column. It must not change as long as versions 1 and 2 can be read.
func goldenSeries() []one {
	var whole, decimal, double, sparse, few []float64
	for i := range 1500 {
		whole = append(whole, float64(i*i%101))
		decimal = append(decimal, float64(i*37)/1000)
		double = append(double, math.Sqrt(float64(i)))
		sparse = append(sparse, math.Cbrt(float64(i/20)))
		few = append(few, 7)
	}
	whole[700] = math.Float64frombits(value.StaleNaN)
	present := make([]uint64, 24)
	for i := range present {
		present[i] = 0xfff0_0000_0000_ffff
	}
	noise := []float64{math.Inf(1), math.Copysign(0, -1), math.MaxFloat64, math.Float64frombits(0x7ff8000000000123),
		1e-300}
	var distributions []*histogram.Histogram
	for i := range int64(300) {
		h := &histogram.Histogram{Schema: 3, ZeroThreshold: 0.0005, ZeroCount: uint64(i), Count: uint64(10 * i),
			Sum:             float64(i) / 3,
			PositiveSpans:   []histogram.Span{{Offset: -2, Length: 2}, {Offset: 3, Length: 1}},
			PositiveBuckets: []int64{i, 2 * i, -i}}
		if i > 200 {
			h.Schema, h.NegativeSpans, h.NegativeBuckets = 2, []histogram.Span{{Offset: 1, Length: 1}}, []int64{i}
			h.CounterResetHint = histogram.GaugeType
		}
		distributions = append(distributions, h)
	}
	distributions[100] = nil
	named := func(name string, more ...string) labels.Labels {
		return labels.FromStrings(append([]string{"__name__", name, "topology", "orders"}, more...)...)
	}
	return []one{
		{named("a_whole"), []run.Run{{FirstMs: 1_700_000_000_000, StepMs: 1000, Values: whole}}},
		{named("b_decimal"), []run.Run{{FirstMs: 1_700_000_000_000, StepMs: 60_000, Values: decimal},
			{FirstMs: 1_700_100_000_000, StepMs: 1000, Values: decimal}}},
		{named("c_double"), []run.Run{{FirstMs: -5000, StepMs: 7, Values: double, Present: present}}},
		{named("d_sparse"), []run.Run{{FirstMs: 0, StepMs: 1, Values: sparse}}},
		{named("e_constant"), []run.Run{{FirstMs: 1_700_000_000_000, StepMs: 1000, Values: few}}},
		{named("f_noise"), []run.Run{{FirstMs: 1_700_000_000_000, StepMs: 1000, Values: noise}}},
		{named("g_both"), []run.Run{{FirstMs: 1_700_000_000_000, StepMs: 1000, Values: noise},
			{FirstMs: 1_700_000_000_000, StepMs: 60_000, Histograms: distributions}}},
		{named("h", "host", "a", "task", "1"), []run.Run{{FirstMs: 5, StepMs: 1, Values: []float64{1}}}},
		{named("h", "host", "b"), []run.Run{{FirstMs: 5, StepMs: 1, Values: []float64{2}}}},
	}
}

func TestGoldenPartsRead(t *testing.T) {
	all := goldenSeries()
	file := func(n int) string { return filepath.Join("testdata", fmt.Sprintf("version-%d.part", n)) }
	if *update {
		fs := disktest.NewMemory(1)
		write(t, fs, "part", WriterOptions{PageBytes: 1000, Levels: true}, all)
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file(version), fs.Bytes("part"), 0o644))
	}
	for n := 1; n <= version; n++ {
		b, err := os.ReadFile(file(n))
		require.NoError(t, err)
		fs := disktest.NewMemory(1)
		fs.Put("part", b)
		p := open(t, fs, "part")
		require.Empty(t, reports(t, p))
		lost, reported := costs(t, p, all)
		require.Empty(t, lost)
		require.Empty(t, reported)
		e, err := p.Extent(4) // e_constant
		require.NoError(t, err)
		require.Equal(t, n > 1, e.Rises, "version %d", n)
	}
}
