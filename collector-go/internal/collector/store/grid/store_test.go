package grid

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

var _ storage.Queryable = (*Store)(nil)

// Every store must pass storetest. This table says what else this store must survive, and where that is tested:
//
//	other stores away for a day   store/servertest: TestADayAway (make test-stores) holds them to what this one has
//	kills                         TestPort and TestConformance, behind any hand-over; TestEndAtEveryCall; journal, feed and store together:
//	                              feed's TestWhateverHappens; processes of a real cluster: e2e
//	losses of power               TestEndAtEveryCall, TestAnyFault, TestWhateverHappens
//	faults of the disk            TestFaultAtEveryCall, TestAnyFault, TestFullDisk, TestWhateverHappens
//	damage                        damage_test.go here and in part, and their fuzz targets
//	answers                       TestTheTwinAgrees
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newHarness(t) })
}

// The store accepts slices of any age if retention keeps everything.
func TestPort(t *testing.T) {
	storetest.RunPort(t, func(t *testing.T) storetest.Harness {
		return newHarness(t, func(o *Options) { o.RetentionTime = 0 })
	})
}

// Slices of a clock that is weeks ahead do not make other slices expire, because retention uses only the collector's
// clock.
func TestAClockAheadExpiresNothing(t *testing.T) {
	p := newHarness(t, tame, func(o *Options) { o.RetentionTime = 15 * 24 * time.Hour })
	s := p.open(t)
	for i, fromMs := range []int64{today, today + 20*24*time.Hour.Milliseconds(), today + 1_000_000} {
		rejected, err := s.Append(t.Context(), uint64(i+1), numbers(fromMs, 100))
		require.NoError(t, err)
		require.Empty(t, rejected)
		require.NoError(t, s.Flush(t.Context()))
	}
	require.Equal(t, 300, count(t, s))
}
