package catalog

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// TestTemplatesAreTheTable checks that the cache of templates changes no result, whichever workers, tasks and
// temporalities had a name before.
func TestTemplatesAreTheTable(t *testing.T) {
	text, err := os.ReadFile("testdata/names.txt")
	require.NoError(t, err)
	var raws []metric.Raw
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if said, _, _ := strings.Cut(line, "  =>  "); said != "" && !strings.HasPrefix(said, "#") {
			raws = append(raws, parseRaw(t, said))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		remembering := newTemplates()
		for i := range rapid.IntRange(1, 30).Draw(t, "series") {
			raw := rapid.SampledFrom(raws).Draw(t, "raw")
			raw.Port = rapid.Uint32Range(6700, 6702).Draw(t, "port")
			raw.Task = rapid.Int32Range(-1, 2).Draw(t, "task")
			raw.Temporality = rapid.SampledFrom([]metric.Temporality{metric.TemporalityUnknown, metric.Gauge,
				metric.Delta, metric.Cumulative}).Draw(t, "temporality")
			how := reading{storm: rapid.SampledFrom([]releases{anyRelease, until22, releasesOf("2.3 on")}).Draw(t, "storm"),
				system: rapid.Bool().Draw(t, "system"), source: rapid.IntRange(-1, 2).Draw(t, "source")}
			of, fresh := remembering.of(&raw, how), newTemplates()
			expected := look(&raw, how)
			require.Equal(t, expected, of, i)
			require.Equal(t, expected.ruleFor(&raw, fresh.labelsOf(expected, &raw)),
				of.ruleFor(&raw, remembering.labelsOf(of, &raw)), i)
		}
	})
}

// workersSeries returns series as thousands of workers report them, a hundred each.
func workersSeries(workers int) []metric.Raw {
	var raws []metric.Raw
	for w := range workers {
		for n := range 100 {
			raws = append(raws, metric.Raw{Worker: metric.Worker{Topology: "bench", Host: fmt.Sprintf("host_%d", w),
				Port: 6700}, Component: "__system",
				Task: -1, Name: fmt.Sprintf("cpu.field_%d", n), Shape: metric.ShapeNumber, Temporality: metric.Gauge,
				IntervalMs: 10_000})
		}
	}
	return raws
}

func BenchmarkDefine(b *testing.B) {
	raws := workersSeries(1000)
	b.ReportAllocs()
	for b.Loop() {
		s := NewState(DefaultOptions())
		for i := range raws {
			s.Define(uint32(i+1), &raws[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(raws)), "ns/series")
}
