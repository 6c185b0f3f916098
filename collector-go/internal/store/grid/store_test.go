package grid

import (
	"testing"

	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/storetest"
)

var _ storage.Queryable = (*Store)(nil)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newPlace(t) })
}

// Slices of any age are taken where retention keeps everything.
func TestPort(t *testing.T) {
	storetest.RunPort(t, func(t *testing.T) storetest.Harness { return newPlace(t, func(o *Options) { o.RetentionTime = 0 }) })
}
