package read_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/gridtest"
)

// rising returns twelve hours of counters in three parts with levels, followed by slices in memory. Most counters rise
// evenly. Some have a fall or a gap, some begin or end in between, and some have slices in two sources at once. read
// counts how often levels are read.
func rising(t *testing.T, r *rand.Rand, firstMs int64) (all sources, read *int) {
	const parts, partMs = 3, int64(4 * 3_600_000)
	read = new(int)
	writers, disks := make([]*part.Writer, parts), make([]*disktest.Memory, parts)
	for i := range writers {
		var err error
		disks[i] = disktest.NewMemory(1)
		writers[i], err = part.Create(disks[i], "part", part.WriterOptions{Levels: true})
		require.NoError(t, err)
	}
	memory := &gridtest.Memory{}
	for n := range 12 {
		l := labels.FromStrings("__name__", "x_total", "worker", fmt.Sprintf("%02d", n))
		stepMs := []int64{10_000, 10_000, 1000, 15_000, 7000}[r.IntN(5)]
		atMs, v := firstMs+1+r.Int64N(stepMs), float64(r.IntN(3))/3
		if r.IntN(3) == 0 {
			atMs += r.Int64N(2 * partMs)
		}
		toMs := firstMs + parts*partMs + 600_000
		if r.IntN(4) == 0 {
			toMs -= r.Int64N(partMs)
		}
		odd := r.IntN(3)
		for i := range parts + 1 {
			var of []run.Run
			begin := true
			for endMs := min(firstMs+int64(i+1)*partMs, toMs); atMs <= endMs; atMs += stepMs {
				if odd == 1 && r.IntN(2000) == 0 {
					begin = true
					continue
				}
				if odd == 2 && r.IntN(2000) == 0 {
					v /= 2
				}
				if begin {
					of = append(of, run.Run{FirstMs: atMs, StepMs: stepMs})
					begin = false
				}
				last := &of[len(of)-1]
				v += float64(r.IntN(4)) / 3
				last.Values = append(last.Values, v)
			}
			switch {
			case len(of) == 0:
			case i < parts:
				require.NoError(t, writers[i].Add(l, of))
				if i == parts-1 && n%4 == 0 { // repeated in memory, with other values that must not count
					again := of[0]
					again.Values = []float64{-1, -2}
					memory.Add(l, []run.Run{again})
				}
			case n%4 != 0:
				memory.Add(l, of)
			}
		}
	}
	for i, w := range writers {
		_, err := w.Finish()
		require.NoError(t, err)
		p, err := part.Open(disks[i], "part")
		require.NoError(t, err)
		all = append(all, counting{p, read, 1 << 60})
	}
	return append(all, memory), read
}

// For counters that rise, rates over windows that fit level windows are computed without slices. They equal the
// engine's results from the slices bit by bit, and so do counts.
func TestOutlinesAnswerAsSlices(t *testing.T) {
	levelled := 0
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 9))
		firstMs := int64(1_700_006_400_000)
		if seed%2 == 1 {
			firstMs += r.Int64N(3_600_000)
		}
		store, read := rising(t, r, firstMs)
		ours, theirs := twoEngines(t, store)
		for range 80 {
			pick := func(of ...time.Duration) time.Duration { return of[r.IntN(len(of))] }
			step := pick(time.Minute, 5*time.Minute, 5*time.Minute, 10*time.Minute, 15*time.Minute, time.Hour,
				time.Hour, 12*time.Minute)
			window := pick(step, step, step, 2*step, time.Minute, 3*time.Hour) + pick(0, 0, time.Second, 7*time.Second,
				10*time.Second, 10*time.Second, 15*time.Second, 17*time.Second, 20*time.Second)
			expr := fmt.Sprintf("%s(x_total[%s]%s)", []string{"rate", "rate", "increase", "count_over_time"}[r.IntN(4)],
				window, []string{"", "", "", " offset 5m", " offset 1m"}[r.IntN(5)])
			evenMs := []int64{1, 10_000, 60_000, 300_000, 300_000, 3_600_000, 3_600_000}[r.IntN(7)]
			start := time.UnixMilli((firstMs - 3_600_000 + r.Int64N(12*3_600_000)) / evenMs * evenMs)
			end := start.Add(time.Duration(r.IntN(40)) * step)
			same(t, ours, theirs, expr, start, end, step)
		}
		levelled += *read
	}
	t.Logf("levels were read %d times", levelled)
	require.Greater(t, levelled, 500)
}

// twoEngines returns an engine that lets the store compute windows, and one that reads slices.
func twoEngines(t *testing.T, store sources) (ours, theirs *query.Engine) {
	ours, err := query.New(store, query.DefaultOptions())
	require.NoError(t, err)
	theirs, err = query.New(unplanned{store}, query.DefaultOptions())
	require.NoError(t, err)
	return ours, theirs
}

// same requires that both engines give the same answer, bit by bit.
func same(t *testing.T, ours, theirs *query.Engine, expr string, start, end time.Time, step time.Duration) {
	t.Helper()
	ask := func(e *query.Engine) string {
		q, err := e.Range(t.Context(), nil, expr, start, end, step)
		require.NoError(t, err)
		defer q.Close()
		result := q.Exec(t.Context())
		require.NoError(t, result.Err)
		matrix, err := result.Matrix()
		require.NoError(t, err)
		text := strings.Builder{}
		for _, s := range matrix {
			text.WriteString("\n" + s.Metric.String())
			for _, p := range s.Floats {
				fmt.Fprintf(&text, " %d=%g/%x", p.T, p.F, math.Float64bits(p.F))
			}
		}
		return text.String()
	}
	if wanted, got := ask(theirs), ask(ours); wanted != got {
		require.Equal(t, wanted, got, "%s from %s every %s", expr, start.UTC(), step)
	}
}

// Results equal the engine's even for windows of numbers whose sum overflows, of infinities and NaNs, and of numbers
// that cancel each other.
func TestWindowsOfAnyNumbers(t *testing.T) {
	odd := []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, -math.MaxFloat64, math.MaxFloat64 / 3,
		1e300, 1, -1e300, 0, math.Copysign(0, -1), 1e-300, math.Float64frombits(value.StaleNaN)}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 12))
		values, kinds := make([]float64, 300), 1+r.IntN(len(odd))
		first := r.IntN(len(odd))
		for i := range values {
			if values[i] = r.NormFloat64() * math.Pow(10, float64(r.IntN(20))); r.IntN(20) == 0 {
				values[i] = odd[(first+r.IntN(kinds))%len(odd)]
			}
		}
		m := &gridtest.Memory{}
		m.Add(named("x_total"), []run.Run{{FirstMs: 10_000, StepMs: 10_000, Values: values}})
		ours, theirs := twoEngines(t, sources{m})
		for _, function := range []string{"avg", "sum", "min", "max", "count", "last"} {
			same(t, ours, theirs, fmt.Sprintf("%s_over_time(x_total[%ds])", function, 1+r.IntN(300)), time.UnixMilli(0),
				time.UnixMilli(3_100_000), 25*time.Second)
		}
		same(t, ours, theirs, fmt.Sprintf("rate(x_total[%ds])", 1+r.IntN(300)), time.UnixMilli(0),
			time.UnixMilli(3_100_000), 25*time.Second)
	}
}

// sliceless is a part whose slices cannot be read.
type sliceless struct{ *part.Part }

var errSlice = errors.New("a slice was read")

func (sliceless) Runs(uint32, int64, int64, []run.Run) ([]run.Run, error) { return nil, errSlice }

func (s sliceless) Select(ctx context.Context, minMs, maxMs int64, matchers []*labels.Matcher) ([]run.Found, error) {
	found, err := s.Part.Select(ctx, minMs, maxMs, matchers)
	for i := range found {
		found[i].Reader = s
	}
	return found, err
}

// If a series rises evenly and the windows fit, no slices are read. Otherwise they are.
func TestNoSliceIsRead(t *testing.T) {
	fs := disktest.NewMemory(1)
	w, err := part.Create(fs, "part", part.WriterOptions{Levels: true})
	require.NoError(t, err)
	const firstMs = 1_700_006_400_000
	values := make([]float64, 2160)
	for i := range values {
		values[i] = float64(i) / 4
	}
	require.NoError(t, w.Add(named("x_total"), []run.Run{{FirstMs: firstMs + 10_000, StepMs: 10_000, Values: values}}))
	_, err = w.Finish()
	require.NoError(t, err)
	p, err := part.Open(fs, "part")
	require.NoError(t, err)
	for _, of := range []struct {
		expr   string
		read   bool
		shift  time.Duration
		step   time.Duration
		answer string
	}{
		{"rate(x_total[610s])", false, 0, 10 * time.Minute, "0.0249"},
		{"rate(x_total[10m])", false, 0, 10 * time.Minute, "0.0249"},
		{"increase(x_total[1h])", false, 0, time.Hour, "90"},
		{"count_over_time(x_total[61s])", false, 7 * time.Second, 37 * time.Second, "6"},
		{"rate(x_total[620s])", true, 0, 10 * time.Minute, ""}, {"rate(x_total[610s])", true, 10 * time.Second,
			10 * time.Minute, ""}, {"rate(x_total[610s])", true, 0, 610 * time.Second, ""},
		{"sum_over_time(x_total[10m])", true, 0, 10 * time.Minute, ""},
	} {
		e, err := query.New(sources{sliceless{p}}, query.DefaultOptions())
		require.NoError(t, err)
		q, err := e.Range(t.Context(), nil, of.expr, time.UnixMilli(firstMs).Add(2*time.Hour+of.shift),
			time.UnixMilli(firstMs).Add(5*time.Hour+of.shift), of.step)
		require.NoError(t, err)
		result := q.Exec(t.Context())
		if of.read {
			assert.ErrorIs(t, result.Err, errSlice, "%+v", of)
			continue
		}
		require.NoError(t, result.Err, "%+v", of)
		assert.Contains(t, result.String(), of.answer, "%+v", of)
		q.Close()
	}
}
