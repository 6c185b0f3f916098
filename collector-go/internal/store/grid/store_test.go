package grid

import (
	"testing"

	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/storetest"
)

var _ storage.Queryable = (*Store)(nil)

// Every store passes storetest. What else this one must stand, and where that is tried:
//
//	other stores away for a day   store/servertest: TestADayAway (make test-stores) holds them to what this one has
//	kills                         TestPort and TestConformance, behind any hand-over; TestEndAtEveryCall; journal, feed and store together:
//	                              feed's TestWhateverHappens; processes of a real cluster: e2e
//	losses of power               TestEndAtEveryCall, TestAnyFault, TestWhateverHappens
//	faults of the disk            TestFaultAtEveryCall, TestAnyFault, TestFullDisk, TestWhateverHappens
//	damage                        damage_test.go here and in part, and their fuzz targets
//	answers                       TestTheTwinAgrees
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newPlace(t) })
}

// Slices of any age are taken where retention keeps everything.
func TestPort(t *testing.T) {
	storetest.RunPort(t, func(t *testing.T) storetest.Harness { return newPlace(t, func(o *Options) { o.RetentionTime = 0 }) })
}
