package load

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counter is a single-threaded topology: it answers one query after the other, each in 10 ms, and stalls once.
type counter struct {
	turn         chan struct{} // a channel, because synctest time stands still while a goroutine waits for a mutex
	began        time.Time
	stall, pause time.Duration
}

func newCounter() *counter {
	return &counter{turn: make(chan struct{}, 1), began: time.Now(), stall: 30 * time.Second, pause: 2 * time.Second}
}

const serviceTime = 10 * time.Millisecond

func (c *counter) Query(context.Context, string) (Answer, error) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.pause > 0 && time.Since(c.began) >= c.stall {
		time.Sleep(c.pause)
		c.pause = 0
	}
	time.Sleep(serviceTime)
	return Answer{}, nil
}

// quick returns a query without records.
func quick() RawQuery { return RawQuery{Limit: 1, Duration: 30 * time.Second} }

// One stall of 2 s in 60 s at 20 queries/s: 40 of 1,200 queries were scheduled during it. p99 leaves out only 12 of
// them.
func TestAStallShowsInTheTail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tally := NewTally()
		loop, err := NewOpenLoop(quick(), newCounter(), DefaultOpenOptions(20, time.Minute), tally.Add)
		require.NoError(t, err)
		loop.Run(t.Context())
		result := tally.Result()
		require.Equal(t, 1200, result.Returned)
		t.Logf("the open loop sees a p99 of %.0f ms", result.Latency.P99*1000)
		assert.GreaterOrEqual(t, result.Latency.P99, 1.5)
		assert.InDelta(t, 0.010, result.Latency.P50, 0.001)
	})
	synctest.Test(t, func(t *testing.T) {
		server, latencies := newCounter(), []float64{}
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			submitted := time.Now()
			_, err := server.Query(t.Context(), "")
			require.NoError(t, err)
			took := time.Since(submitted)
			latencies = append(latencies, float64(took.Milliseconds()))
			time.Sleep(50*time.Millisecond - min(took, 50*time.Millisecond)) // 20 per second without a stall
		}
		slices.Sort(latencies)
		t.Logf("a closed-loop client asks %d times and sees a p99 of %.0f ms", len(latencies),
			Percentile(latencies, 0.99))
		assert.Less(t, Percentile(latencies, 0.99), 500.0, "the stall hides behind the one query that it held up")
	})
}

// With MostInFlight 1, queries during a stall are submitted late or never, and their latency counts. Each query keeps
// its number and thus its probe, however far the loop has advanced.
func TestQueriesKeepTheirNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, options := time.Now(), DefaultOpenOptions(20, 3*time.Second)
		var outcomes []Outcome
		loop, err := NewOpenLoop(quick(), newCounter(), options, func(o Outcome) { outcomes = append(outcomes, o) })
		require.NoError(t, err)
		loop.Run(t.Context())
		require.Len(t, outcomes, 60)
		for _, o := range outcomes {
			assert.InDelta(t, began.Add(time.Duration(o.Slot)*50*time.Millisecond).UnixMilli(), o.IntendedMs, 1)
			assert.Equal(t, probeValue(options.Prefix, o.Slot%options.Probes), o.Probe)
		}
	})
}

func TestWhatFindsNoPermitStartsLateAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ledger ledger
		options := DefaultOpenOptions(20, time.Minute)
		options.MostInFlight = 1
		loop, err := NewOpenLoop(quick(), newCounter(), options, ledger.add)
		require.NoError(t, err)
		done := make(chan struct{})
		go func() { loop.Run(t.Context()); close(done) }()
		time.Sleep(31*time.Second + 25*time.Millisecond) // one second into the stall
		counts := loop.Counts()
		assert.Equal(t, 1, counts.InFlight)
		assert.Equal(t, 20, counts.Waiting)
		<-done
		summary := Summarise(ledger.outcomes, Window{Measured: time.Unix(0, 0), End: time.Now()})
		assert.Equal(t, 1200, summary.Returned, "none is left out")
		assert.GreaterOrEqual(t, float64(summary.LatencyP99Ms), 1500.0)
		for _, o := range ledger.outcomes {
			assert.LessOrEqual(t, o.LateUs, int64(1000), "it was not the client's fault")
		}
	})
}

// The topology answers nothing. Queries beyond the limit are observed, with the time since their scheduled start.
func TestWhatIsNeverSubmittedIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ledger ledger
		options := DefaultOpenOptions(10, 10*time.Second)
		options.MostInFlight = 30
		gate := newGate()
		loop, err := NewOpenLoop(quick(), gate, options, ledger.add)
		require.NoError(t, err)
		loop.Run(t.Context())
		assert.Equal(t, 30, ledger.count(TimedOut))
		assert.Equal(t, 70, ledger.count(NotSubmitted))
		assert.Equal(t, Counts{Scheduled: 100, Submitted: 30, MostInFlight: 30,
			Ends: Ends{TimedOut: 30, NotSubmitted: 70}},
			loop.Counts())
		for _, o := range ledger.outcomes {
			if o.End == NotSubmitted {
				assert.Equal(t, 10*time.Second-time.Duration(o.Slot)*100*time.Millisecond, o.Latency())
			}
		}
	})
}

// With Skip, a query that could not start in time is not submitted later. The stall still shows in the latency.
func TestWhatIsSkippedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ledger ledger
		options := DefaultOpenOptions(20, time.Minute)
		options.MostInFlight, options.Skip = 1, true
		loop, err := NewOpenLoop(quick(), newCounter(), options, ledger.add)
		require.NoError(t, err)
		loop.Run(t.Context())
		assert.Equal(t, 40, ledger.count(NotSubmitted), "those of the stall")
		assert.Equal(t, 1160, ledger.count(Returned))
		slowest := 0
		for _, o := range ledger.outcomes {
			if o.Latency() > time.Second {
				slowest++
			}
		}
		assert.InDelta(t, 20, slowest, 1)
		assert.Equal(t, Counts{Scheduled: 1200, Submitted: 1160, MostInFlight: 1,
			Ends: Ends{Returned: 1160, NotSubmitted: 40}},
			loop.Counts())
	})
}

// A client that gets no CPU at the end still submits the queries that were scheduled, late, because only the client was
// in the way.
func TestALateClientStillSubmitsWhatWasScheduled(t *testing.T) {
	var ledger ledger
	loop, err := NewOpenLoop(quick(), answering{}, DefaultOpenOptions(100, 200*time.Millisecond), ledger.add)
	require.NoError(t, err)
	loop.mu.Lock() // stops the loop
	released := time.AfterFunc(400*time.Millisecond, loop.mu.Unlock)
	defer released.Stop()
	loop.Run(t.Context())
	counts := loop.Counts()
	assert.Equal(t, Counts{Scheduled: 20, Submitted: 20, MostInFlight: counts.MostInFlight,
		Ends: Ends{Returned: 20}}, counts)
	assert.Positive(t, counts.MostInFlight)
	late := 0
	for _, o := range ledger.outcomes {
		if o.LateUs > 150_000 {
			late++
		}
	}
	assert.GreaterOrEqual(t, late, 19, "and says that it was late")
}

// answering is a topology that answers at once.
type answering struct{}

func (answering) Query(context.Context, string) (Answer, error) { return Answer{}, nil }

func TestAnOpenLoopEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ledger ledger
		gate := newGate()
		loop, err := NewOpenLoop(quick(), gate, DefaultOpenOptions(1, 0), ledger.add)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second-time.Nanosecond)
		defer cancel()
		loop.Run(ctx)
		assert.Equal(t, 40, ledger.count(CutOff)+ledger.count(Unfinished))
		assert.Equal(t, 5, ledger.count(Unfinished), "those that should have returned 5 s ago")
	})
}

func TestOpenOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*OpenOptions){
		"rate":      func(o *OpenOptions) { o.Rate = 0 },
		"in flight": func(o *OpenOptions) { o.MostInFlight = 0 },
		"probes":    func(o *OpenOptions) { o.Probes = 1001 },
		"duration":  func(o *OpenOptions) { o.Duration = -1 },
	} {
		options := DefaultOpenOptions(1, 0)
		change(&options)
		assert.Error(t, options.Validate(), name)
	}
}
