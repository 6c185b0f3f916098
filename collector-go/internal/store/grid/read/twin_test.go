package read_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/gridtest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/read"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

// sources are read as a store is.
type sources []run.Source

func (s sources) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return read.NewQuerier(s, minMs, maxMs, nil), nil
}

// The twin: over whatever sources series are spread, PromQL answers as over a Prometheus store that holds the same slices.
func TestAnswersAsPrometheus(t *testing.T) {
	for seed := range int64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			world := gridtest.NewWorld(uint64(seed), 1_700_000_000_000, (2 * time.Hour).Milliseconds())
			ours := sources(world.Sources(uint64(seed), 2+int(seed)))
			gridtest.Compare(t, seed, 150, ours, world.Prometheus(t), world.Spec())
		})
	}
}
