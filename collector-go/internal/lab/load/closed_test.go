package load

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate is a topology whose queries end when the test says so.
type gate struct {
	started chan string
	finish  chan error
}

func newGate() *gate { return &gate{make(chan string, 100), make(chan error)} }

func (g *gate) Query(ctx context.Context, bql string) (Answer, error) {
	g.started <- bql
	select {
	case err := <-g.finish:
		return Answer{}, err
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

func (g *gate) await(t *testing.T, n int) (queries []string) {
	t.Helper()
	for range n {
		select {
		case q := <-g.started:
			queries = append(queries, q)
		case <-time.After(10 * time.Second):
			t.Fatalf("only %d of %d queries came", len(queries), n)
		}
	}
	return queries
}

type ledger struct {
	mu       sync.Mutex
	outcomes []Outcome
}

func (l *ledger) add(o Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes = append(l.outcomes, o)
}

func (l *ledger) count(end End) (n int) {
	for _, o := range l.outcomes {
		if o.End == end {
			n++
		}
	}
	return n
}

func TestClosedLoopSubmitsAgainWhatReturned(t *testing.T) {
	gate, ledger := newGate(), &ledger{}
	loop := NewClosedLoop(DefaultRawQuery(), gate, DefaultClosedOptions(), ledger.add)
	loop.Hold(3)
	first := gate.await(t, 3)
	assert.ElementsMatch(t, []string{DefaultRawQuery().BQL("probe-0"), DefaultRawQuery().BQL("probe-1"),
		DefaultRawQuery().BQL("probe-2")}, first)

	gate.finish <- nil
	assert.Contains(t, first, gate.await(t, 1)[0], "the slot that became free asks again")
	now := loop.Counts()
	assert.Equal(t, []int{3, 1, 0}, []int{now.InFlight, now.Returned, now.Failed})

	loop.Hold(5)
	gate.await(t, 2)
	loop.Close()
	assert.Equal(t, 5, ledger.count(CutOff), "abandoned before they had to return")
	assert.Equal(t, 1, ledger.count(Returned))
	assert.Len(t, ledger.outcomes, 6, "every query is observed once")
}

func TestClosedLoopLetsSuperfluousQueriesEnd(t *testing.T) {
	gate, ledger := newGate(), &ledger{}
	loop := NewClosedLoop(DefaultRawQuery(), gate, DefaultClosedOptions(), ledger.add)
	loop.Hold(4)
	gate.await(t, 4)
	drained := make(chan error)
	go func() { drained <- loop.Drain(context.Background()) }()
	require.Eventually(t, func() bool { loop.mu.Lock(); defer loop.mu.Unlock(); return loop.target == 0 },
		10*time.Second, time.Millisecond)
	for range 4 {
		gate.finish <- nil
	}
	require.NoError(t, <-drained)
	assert.Equal(t, 4, ledger.count(Returned))
	assert.Empty(t, gate.started, "none was submitted again")
}

func TestDrainGivesUpWithItsContext(t *testing.T) {
	gate, ledger := newGate(), &ledger{}
	loop := NewClosedLoop(DefaultRawQuery(), gate, DefaultClosedOptions(), ledger.add)
	loop.Hold(2)
	gate.await(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, loop.Drain(ctx), context.Canceled)
	assert.Equal(t, 2, ledger.count(CutOff))
}

func TestAQueryThatShouldHaveReturnedIsUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, ledger := newGate(), &ledger{}
		options := DefaultClosedOptions()
		options.Grace = time.Hour
		loop := NewClosedLoop(DefaultRawQuery(), gate, options, ledger.add)
		loop.Hold(1)
		time.Sleep(DefaultRawQuery().Duration + time.Minute) // synctest time
		loop.Close()
		assert.Equal(t, 1, ledger.count(Unfinished))
	})
}

func TestFailureIsCountedAndBackedOff(t *testing.T) {
	gate, ledger := newGate(), &ledger{}
	options := DefaultClosedOptions()
	options.Backoff = time.Hour // so that a second submission would show
	loop := NewClosedLoop(DefaultRawQuery(), gate, options, ledger.add)
	loop.Hold(1)
	gate.await(t, 1)
	gate.finish <- errors.New("503")
	require.Eventually(t, func() bool { return loop.Counts().Failed == 1 }, 10*time.Second, time.Millisecond)
	loop.Close()
	loop.Close()
	assert.Empty(t, gate.started)
	assert.Equal(t, "503", ledger.outcomes[0].Error)
}

// A client that stalled between the scheduled and the real submission cannot hide it.
func TestLatencyCountsFromTheIntendedStart(t *testing.T) {
	outcome := Outcome{IntendedMs: 1_000, SubmittedMs: 3_000, FinishedMs: 3_100}
	assert.Equal(t, 2_100*time.Millisecond, outcome.Latency())
}

// Starts that are spread over a period come one after the other. A query that is no longer wanted at its start time
// does not start.
func TestStartsAreSpreadOverATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		loop := NewClosedLoop(quick(), newGate(), DefaultClosedOptions(), func(Outcome) {})
		defer loop.Close()
		loop.Hold(1)
		loop.HoldFrom(5, time.Now(), 8*time.Second) // four more
		for k := range 3 {
			time.Sleep(time.Until(began.Add(time.Duration(2*k+1) * time.Second)))
			assert.Equal(t, 2+k, loop.Counts().InFlight, "after %s", time.Since(began))
		}
		loop.Hold(2)
		time.Sleep(10 * time.Second)
		assert.Equal(t, 4, loop.Counts().Submitted, "the fifth was not wanted when its turn came")
		loop.Hold(5)
		synctest.Wait()
		assert.Equal(t, 5, loop.Counts().Submitted)
	})
}
