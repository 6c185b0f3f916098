package read_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/gridtest"
)

const (
	benchSeries = 500
	benchStepMs = 10_000
	benchSlots  = 24 * 3600 * 1000 / benchStepMs
	benchRuns   = 12
	benchFirst  = int64(1_700_000_000_000)
)

func benchLabels(i int) labels.Labels {
	return labels.FromStrings("__name__", "bullet_worker_cpu_seconds_total", "mode", "user", "topology", "bullet",
		"worker", fmt.Sprintf("host-%03d:6700", i))
}

func benchValue(series, slot int) float64 { return float64(slot*(series+1)) * 1e-4 }

// decoded returns a day of series in memory, in runs of two hours.
func decoded() sources {
	memory := &gridtest.Memory{}
	for i := range benchSeries {
		var runs []run.Run
		for at := 0; at < benchSlots; at += benchSlots / benchRuns {
			values := make([]float64, benchSlots/benchRuns)
			for j := range values {
				values[j] = benchValue(i, at+j)
			}
			runs = append(runs, run.Run{FirstMs: benchFirst + int64(at)*benchStepMs, StepMs: benchStepMs,
				Values: values})
		}
		memory.Add(benchLabels(i), runs)
	}
	return sources{memory}
}

// compressed returns the same day in blocks of Prometheus' store.
func compressed(b *testing.B) storage.Queryable {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	db, err := tsdb.Open(b.TempDir(), nil, nil, options, nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	for slot := range benchSlots {
		appender := db.Appender(b.Context())
		for i := range benchSeries {
			_, err := appender.Append(0, benchLabels(i), benchFirst+int64(slot)*benchStepMs, benchValue(i, slot))
			require.NoError(b, err)
		}
		require.NoError(b, appender.Commit())
	}
	require.NoError(b, db.Compact(context.Background()))
	return db
}

// unplanned hides a query's plan from its store.
type unplanned struct{ storage.Queryable }

func (u unplanned) Querier(minMs, maxMs int64) (storage.Querier, error) {
	q, err := u.Queryable.Querier(minMs, maxMs)
	return unplannedQuerier{q}, err
}

type unplannedQuerier struct{ storage.Querier }

func (q unplannedQuerier) Select(_ context.Context, sorted bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	return q.Querier.Select(context.Background(), sorted, hints, matchers...)
}

// cpuTime returns the CPU time of the process, which other processes on the machine do not affect.
func cpuTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkDay queries a day of 500 series, with a slice every 10 s, at 1,440 instants. With decoded runs it shows the
// cost of reading and evaluating, with and without thinning. A Prometheus store, which has to decode too, is the
// comparison.
func BenchmarkDay(b *testing.B) {
	ours := decoded()
	stores := []struct {
		name string
		open func(b *testing.B) storage.Queryable
	}{
		{"thinned", func(*testing.B) storage.Queryable { return ours }},
		{"raw", func(*testing.B) storage.Queryable { return unplanned{ours} }},
		{"tsdb", compressed},
	}
	for _, store := range stores {
		b.Run(store.name, func(b *testing.B) {
			engine, err := query.New(store.open(b), query.DefaultOptions())
			require.NoError(b, err)
			for _, expr := range []string{"bullet_worker_cpu_seconds_total", "sum(bullet_worker_cpu_seconds_total)",
				"sum(rate(bullet_worker_cpu_seconds_total[1m]))"} {
				b.Run(expr, func(b *testing.B) {
					b.ReportAllocs()
					before := cpuTime(b)
					for b.Loop() {
						q, err := engine.Range(b.Context(), nil, expr, time.UnixMilli(benchFirst),
							time.UnixMilli(benchFirst).Add(24*time.Hour), time.Minute)
						require.NoError(b, err)
						require.NoError(b, q.Exec(b.Context()).Err)
						q.Close()
					}
					b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
				})
			}
		})
	}
}

// BenchmarkGreatest queries the same day for the greatest number of the last hour, every 5 min. It uses decoded runs
// with and without computed windows, and parts of 6 h with and without levels.
func BenchmarkGreatest(b *testing.B) {
	ours := decoded()
	for name, store := range map[string]storage.Queryable{
		"computed": ours, "raw": unplanned{ours}, "parts": parts(b, false), "levels": parts(b, true),
		"parts, raw": unplanned{parts(b, false)},
	} {
		b.Run(name, func(b *testing.B) { greatest(b, store) })
	}
}

// parts returns the day in four parts.
func parts(b *testing.B, levels bool) (all sources) {
	for at := 0; at < benchSlots; at += benchSlots / 4 {
		fs := disktest.NewMemory(1)
		w, err := part.Create(fs, "part", part.WriterOptions{Levels: levels})
		require.NoError(b, err)
		values := make([]float64, benchSlots/4)
		for i := range benchSeries {
			for j := range values {
				values[j] = benchValue(i, at+j)
			}
			require.NoError(b, w.Add(benchLabels(i),
				[]run.Run{{FirstMs: benchFirst + int64(at)*benchStepMs, StepMs: benchStepMs, Values: values}}))
		}
		_, err = w.Finish()
		require.NoError(b, err)
		p, err := part.Open(fs, "part")
		require.NoError(b, err)
		all = append(all, p)
	}
	return all
}

func greatest(b *testing.B, store storage.Queryable) {
	engine, err := query.New(store, query.DefaultOptions())
	require.NoError(b, err)
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		q, err := engine.Range(b.Context(), nil, "max_over_time(bullet_worker_cpu_seconds_total[1h])",
			time.UnixMilli(benchFirst/300_000*300_000).Add(time.Hour), time.UnixMilli(benchFirst).Add(24*time.Hour),
			5*time.Minute)
		require.NoError(b, err)
		require.NoError(b, q.Exec(b.Context()).Err)
		q.Close()
	}
	b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
}
