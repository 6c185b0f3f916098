package grid

import (
	"testing"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newPlace(t) })
}
