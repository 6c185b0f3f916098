package part

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// cpuSeries returns TSBS's cpu-only series for a number of hosts, sorted by labels: ten metrics each, with the host's
// ten labels.
func cpuSeries(hosts int) []labels.Labels {
	var all []labels.Labels
	names := make([]string, hosts)
	for i := range names {
		names[i] = fmt.Sprintf("host_%d", i)
	}
	for _, metric := range []string{"guest", "guest_nice", "idle", "iowait", "irq", "nice", "softirq", "steal",
		"system", "user"} {
		var some []labels.Labels
		for i, host := range names {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			region := fmt.Sprintf("region-%d", r.IntN(9))
			some = append(some, labels.FromStrings("__name__", "cpu_usage_"+metric, "arch",
				[]string{"x64", "x86"}[r.IntN(2)],
				"datacenter", region+[]string{"a", "b", "c"}[r.IntN(3)], "hostname", host, "os",
				[]string{"Ubuntu16.10", "Ubuntu15.10", "Ubuntu16.04LTS"}[r.IntN(3)],
				"rack", fmt.Sprint(r.IntN(100)), "region", region, "service", fmt.Sprint(r.IntN(20)),
				"service_environment", []string{"production", "staging", "test"}[r.IntN(3)],
				"service_version", fmt.Sprint(r.IntN(2)), "team", []string{"SF", "NYC", "LON", "CHI"}[r.IntN(4)]))
		}
		sortLabels(some)
		all = append(all, some...)
	}
	return all
}

// walks returns random walks of whole numbers from 0 to 100.
func walks(series, slots int) [][]float64 {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([][]float64, series)
	for i := range all {
		v := 100 * r.Float64()
		all[i] = make([]float64, slots)
		for k := range all[i] {
			v = min(max(v+r.NormFloat64(), 0), 100)
			all[i][k] = math.Round(v)
		}
	}
	return all
}

func writeFile(b testing.TB, name string, all []labels.Labels, values [][]float64, firstMs int64) Info {
	w, err := Create(disk.System{}, name, WriterOptions{})
	require.NoError(b, err)
	for i, l := range all {
		if err := w.Add(l, []run.Run{{FirstMs: firstMs, StepMs: 1000, Values: values[i%len(values)]}}); err != nil {
			b.Fatal(err)
		}
	}
	info, err := w.Finish()
	require.NoError(b, err)
	return info
}

func BenchmarkWrite(b *testing.B) {
	for _, slots := range []int{60, 3600} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) {
			all := cpuSeries(4000 * 60 / slots)
			values := walks(min(len(all), 1<<21/slots), slots)
			name := filepath.Join(b.TempDir(), "part")
			var info Info
			for b.Loop() {
				info = writeFile(b, name, all, values, 0)
				require.NoError(b, os.Remove(name))
			}
			b.ReportMetric(float64(info.Bytes)/float64(info.Slices), "B/slice")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(info.Slices), "ns/slice")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(info.Series), "ns/series")
		})
	}
}

// BenchmarkLevels measures what levels cost on disk and in time, for 6 h of gauges at several intervals: whole numbers,
// and means of some.
func BenchmarkLevels(b *testing.B) {
	means := walks(200, 21_600)
	for i := range means[:100] {
		r := rand.New(rand.NewPCG(uint64(i), 9))
		for k := range means[i] {
			means[i][k] += float64(r.IntN(1000)) / 1000
		}
	}
	for _, stepMs := range []int64{1000, 5000, 10_000, 15_000, 60_000} {
		for _, levels := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/%t", stepMs, levels), func(b *testing.B) {
				name := filepath.Join(b.TempDir(), "part")
				var info Info
				for b.Loop() {
					w, err := Create(disk.System{}, name, WriterOptions{Levels: levels})
					require.NoError(b, err)
					for i, l := range cpuSeries(20) {
						require.NoError(b, w.Add(l,
							[]run.Run{{FirstMs: stepMs, StepMs: stepMs, Values: means[i][:21_600_000/stepMs]}}))
					}
					info, err = w.Finish()
					require.NoError(b, err)
					require.NoError(b, os.Remove(name))
				}
				b.ReportMetric(float64(info.Bytes)/float64(info.Slices), "B/slice")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(info.Slices), "ns/slice")
			})
		}
	}
}

func BenchmarkRuns(b *testing.B) {
	for _, slots := range []int{60, 3600} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) {
			all := cpuSeries(4000 * 60 / slots)
			name := filepath.Join(b.TempDir(), "part")
			writeFile(b, name, all, walks(min(len(all), 1<<21/slots), slots), 0)
			p, err := Open(disk.System{}, name)
			require.NoError(b, err)
			defer p.Close()
			matcher := labels.MustNewMatcher(labels.MatchEqual, "__name__", "cpu_usage_idle")
			found, err := p.Select(context.Background(), 0, 1e9, []*labels.Matcher{matcher})
			require.NoError(b, err)
			var to []run.Run
			for b.Loop() {
				for _, f := range found {
					if to, err = f.Reader.Runs(f.Ref, 0, 1e9, to[:0]); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(found)), "ns/series")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(found)*slots), "ns/slice")
		})
	}
}

func BenchmarkSelect(b *testing.B) {
	name := filepath.Join(b.TempDir(), "part")
	writeFile(b, name, cpuSeries(4000), walks(100, 60), 0)
	p, err := Open(disk.System{}, name)
	require.NoError(b, err)
	defer p.Close()
	for of, matchers := range map[string][]*labels.Matcher{
		"metric": {labels.MustNewMatcher(labels.MatchEqual, "__name__", "cpu_usage_idle")},
		"one": {labels.MustNewMatcher(labels.MatchEqual, "__name__", "cpu_usage_idle"),
			labels.MustNewMatcher(labels.MatchEqual, "hostname", "host_77")},
		"host":   {labels.MustNewMatcher(labels.MatchEqual, "hostname", "host_77")},
		"regexp": {labels.MustNewMatcher(labels.MatchRegexp, "hostname", "host_7.3")},
	} {
		b.Run(of, func(b *testing.B) {
			var found []run.Found
			for b.Loop() {
				if found, err = p.Select(context.Background(), 0, 1e9, matchers); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(found)), "series")
		})
	}
}

// BenchmarkMerge merges ten parts, whose columns follow each other, into one. Columns are either joined or kept as they
// are.
func BenchmarkMerge(b *testing.B) {
	dir := b.TempDir()
	all := cpuSeries(400)
	var sources []*Part
	for i := range 10 {
		name := filepath.Join(dir, fmt.Sprint(i))
		writeFile(b, name, all, walks(10*len(all), 60)[i*len(all):], int64(i)*60_000)
		p, err := Open(disk.System{}, name)
		require.NoError(b, err)
		defer p.Close()
		sources = append(sources, p)
	}
	for _, how := range []struct {
		name   string
		merge  func(context.Context, *Writer, []*Part) error
		levels bool
	}{{"joined", Merge, false}, {"levels", Merge, true}, {"gathered", Gather, false}} {
		b.Run(how.name, func(b *testing.B) {
			var info Info
			for b.Loop() {
				name := filepath.Join(dir, "merged")
				w, err := Create(disk.System{}, name, WriterOptions{Levels: how.levels})
				require.NoError(b, err)
				require.NoError(b, how.merge(b.Context(), w, sources))
				info, err = w.Finish()
				require.NoError(b, err)
				require.NoError(b, os.Remove(name))
			}
			b.ReportMetric(float64(info.Bytes)/float64(info.Slices), "B/slice")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(info.Slices), "ns/slice")
		})
	}
}

// BenchmarkOpen opens a part with a million series, and reports the memory that it takes.
func BenchmarkOpen(b *testing.B) {
	name := filepath.Join(b.TempDir(), "part")
	writeFile(b, name, cpuSeries(100_000), [][]float64{{1}}, 0)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p, err := Open(disk.System{}, name)
	require.NoError(b, err)
	_, err = p.Select(context.Background(), 0, 1e9,
		[]*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "hostname", "host_77")})
	require.NoError(b, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		again, err := Open(disk.System{}, name)
		if err != nil {
			b.Fatal(err)
		}
		again.Close()
	}
	b.ReportMetric(float64(p.Info().Bytes)/float64(p.Info().Series), "B/series")
	b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)), "B/open")
	p.Close()
}

func sortLabels(all []labels.Labels) { slices.SortFunc(all, labels.Compare) }

func openFile(t testing.TB, name string) *Part {
	p, err := Open(disk.System{}, name)
	require.NoError(t, err)
	return p
}
