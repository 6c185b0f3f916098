package canary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a topology with its record source and a collector, in synctest time.
type world struct {
	mu       sync.Mutex
	control  load.Control
	stalled  time.Time // until then queries do not return
	failing  bool
	lossy    bool
	samples  []sender.Sample
	reported []Summary
}

func (w *world) Query(ctx context.Context, bql string) (load.Answer, error) {
	w.mu.Lock()
	failing, stall, lossy := w.failing, time.Until(w.stalled), w.lossy
	w.mu.Unlock()
	if failing {
		return load.Answer{}, errors.New("429 Too Many Requests")
	}
	began := time.Now()
	select {
	case <-time.After(max(0, stall) + 3*time.Second):
	case <-ctx.Done():
		return load.Answer{}, ctx.Err()
	}
	var answer load.Answer
	// a RAW query returns all records of the probe during the query's life
	probe := bql[strings.Index(bql, "'")+1 : strings.LastIndex(bql, "'")]
	for k := began.Unix()*10 + 1; k <= time.Now().Unix()*10; k++ {
		if lossy && k%4 == 0 {
			continue
		}
		answer.Records = append(answer.Records,
			json.RawMessage(fmt.Sprintf(`{"probe":%q,"probe_sequence":%d}`, probe, k)))
	}
	return answer, nil
}

func (w *world) Control(context.Context) (load.Control, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.control, nil
}

func (w *world) SetControl(_ context.Context, control load.Control) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.control = control
	return nil
}

func (w *world) Status(context.Context) (load.Status, error) {
	return load.Status{Reporting: 1, Following: 1}, nil
}

func (w *world) Offer(samples []sender.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples = append(w.samples, samples...)
}

func (w *world) change(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// total returns the oldest and the newest sample of a counter or a histogram's count.
func (w *world) total(name, key string) (first, newest float64) {
	first = math.NaN()
	for _, s := range w.samples {
		if s.Series.Name != name || strings.Join(s.Series.Key[:], "/") != key {
			continue
		}
		newest = s.Value
		if s.Histogram != nil {
			newest = float64(s.Histogram.Count)
		}
		if math.IsNaN(first) {
			first = newest
		}
	}
	return first, newest
}

// fly runs a canary of RAW queries for a time.
func fly(t *testing.T, w *world, length time.Duration, during func(began time.Time)) {
	o := DefaultOptions()
	o.Classes, o.Query.Duration, o.Query.Limit = []load.Class{load.Raw}, 3*time.Second, 1000
	c, err := New(o, w, w, w, func(s Summary) { w.reported = append(w.reported, s) })
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	if during != nil {
		during(time.Now())
	}
	require.NoError(t, <-done)
}

func TestACanarysMinutesAndSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{control: load.Control{RecordsPerSecond: 5,
			Probes: []load.Probe{{Value: "somebody-else", PerSecond: 1}}}}
		fly(t, w, 2*time.Minute+time.Second, func(time.Time) {
			time.Sleep(time.Minute)
			w.change(func() { assert.Len(t, w.control.Probes, 2) })
		})
		require.Len(t, w.reported, 4, "two minutes, and what of a third and of the hour there was")
		first := w.reported[0].Classes[0].Result
		assert.Equal(t, 6, first.Returned)
		assert.InDelta(t, 3, first.Latency.P99, 0.01)
		assert.InDelta(t, 1, first.Completeness(), 0)
		assert.Equal(t, time.Hour, w.reported[3].Length)
		assert.Equal(t, 12, w.reported[3].Classes[0].Result.Returned)

		began, ended := w.total(latencyMetric, "raw/")
		assert.Equal(t, []float64{0, 12}, []float64{began, ended}, "totals rise from 0")
		_, returned := w.total(outcomesMetric, "raw/returned")
		assert.InDelta(t, 12, returned, 0)
		for _, s := range w.samples {
			if s.Series.Name == completenessMetric {
				assert.InDelta(t, 1, s.Value, 0)
			}
		}
		assert.Equal(t, []load.Probe{{Value: "somebody-else", PerSecond: 1}}, w.control.Probes,
			"its own are taken back")
	})
}

func TestAStallShowsInWhatWasMissedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		fly(t, w, 5*time.Minute+time.Second, func(began time.Time) {
			time.Sleep(time.Minute)
			w.change(func() { w.stalled = time.Now().Add(2 * time.Minute) })
		})
		hour := w.reported[len(w.reported)-1].Classes[0].Result
		assert.Equal(t, 31, hour.Returned+hour.TimedOut+hour.NotSubmitted+hour.CutOff, "none is left out")
		assert.Positive(t, hour.TimedOut)
		_, missed := w.total(outcomesMetric, "raw/missed")
		assert.InDelta(t, hour.NotSubmitted, missed, 0)
		_, observed := w.total(latencyMetric, "raw/")
		assert.InDelta(t, hour.Returned+hour.TimedOut+hour.NotSubmitted, observed, 0)
		assert.GreaterOrEqual(t, hour.Latency.P90, 15.0)
	})
}

func TestLostRecordsAndErrorsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{lossy: true}
		fly(t, w, time.Minute+time.Second, func(time.Time) {
			time.Sleep(31 * time.Second)
			w.change(func() { w.failing = true })
		})
		minute := w.reported[0].Classes[0].Result
		assert.InDelta(t, 0.7, minute.Completeness(), 0.1)
		assert.InDelta(t, 2.5, minute.Failed, 0.6, "the third starts as the minute ends")
		assert.Equal(t, "429 Too Many Requests", minute.Errors[0].Error)
		_, failed := w.total(outcomesMetric, "raw/failed")
		assert.Positive(t, failed)
		_, observed := w.total(latencyMetric, "raw/")
		assert.InDelta(t, minute.Returned, observed, 0, "an error comes at any speed")
	})
}

// Another client replaces the source's setting without the canary's probes. The canary adds them again, and does not
// judge completeness meanwhile.
func TestASourceThatIsConfiguredAgainIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		fly(t, w, time.Minute+time.Second, func(time.Time) {
			time.Sleep(31 * time.Second)
			w.change(func() { w.control, w.lossy = load.Control{}, true })
			time.Sleep(2 * time.Second)
			w.change(func() { w.lossy = false })
			w.change(func() { assert.Len(t, w.control.Probes, 1) })
		})
		minute := w.reported[0].Classes[0].Result
		assert.InDelta(t, 1, minute.Completeness(), 0)
		assert.Less(t, minute.Checked, minute.Returned)
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for message, change := range map[string]func(*Options){
		"at least one class": func(o *Options) { o.Classes = nil },
		"listed twice":       func(o *Options) { o.Classes = []load.Class{load.Raw, load.Raw} },
		"at least 100 ms":    func(o *Options) { o.Every = 0 },
		"in flight":          func(o *Options) { o.MostInFlight = 0 },
		"at least 1 s":       func(o *Options) { o.Query.Duration = 1 },
	} {
		o := DefaultOptions()
		change(&o)
		assert.ErrorContains(t, o.Validate(), message)
	}
}
