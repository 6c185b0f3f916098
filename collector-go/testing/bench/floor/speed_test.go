package floor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// asFloor makes the test's program the floor: its options follow.
const asFloor = "floor"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asFloor {
		var o Options
		err := json.Unmarshal([]byte(os.Args[2]), &o)
		if err == nil {
			err = Run(o)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// start starts a floor, a process of its own, which ends with the test.
func start(t testing.TB, o Options) (*bench.Process, string) {
	var err error
	o.Listen, err = bench.FreeAddress()
	require.NoError(t, err)
	o.HTTP, err = bench.FreeAddress()
	require.NoError(t, err)
	dir := t.TempDir()
	o.Log = filepath.Join(dir, "data")
	options, err := json.Marshal(o)
	require.NoError(t, err)
	p, err := bench.Start(t.Context(), os.Args[0], []string{asFloor, string(options)}, "http://"+o.HTTP, "/ready",
		filepath.Join(dir, "log"))
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p, o.Listen
}

// BenchmarkFloor measures the CPU of a floor by the samples that it takes.
func BenchmarkFloor(b *testing.B) {
	for _, size := range []int{8, 12} {
		b.Run(fmt.Sprintf("%d bytes a sample", size), func(b *testing.B) {
			rows := bench.NewRows(1, 4000, 10)
			load := Load{Streams: 4, PerMessage: 1000, Steps: 600, StepsASlice: 60, SampleBytes: size, InFlight: 64}
			p, address := start(b, Options{LogBytes: DefaultLogBytes, Series: rows.Hosts * rows.Metrics,
				Slices: load.Slices()})
			samples := 0
			for b.Loop() {
				_, err := Send(b.Context(), address, rows, load)
				require.NoError(b, err)
				samples += rows.Hosts * rows.Metrics * load.Steps
			}
			cpu, err := p.CPU(b.Context())
			require.NoError(b, err)
			b.ReportMetric(float64((cpu-p.Begun).Nanoseconds())/float64(samples), "cpu-ns/sample")
			b.ReportMetric(float64(samples)/(cpu-p.Begun).Seconds()/1e6, "Msamples/cpu-s")
		})
	}
}
