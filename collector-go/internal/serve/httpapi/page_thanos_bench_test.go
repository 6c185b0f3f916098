//go:build stores

package httpapi

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	write "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/servertest"
)

// BenchmarkPageThroughThanos runs the queries of the page's figures for a day of 500 workers in 1 min slices. It
// compares the embedded store with a collector whose query.url is a Thanos with three receivers. Thanos got the data
// by remote write from the collector. The CPU time includes the querier and the receivers of Thanos.
func BenchmarkPageThroughThanos(b *testing.B) {
	ring := servertest.Thanos(b, 2*time.Hour)
	protocol, err := write.New(write.Options{Receiver: forward.Receiver{URL: ring.Writes[0]}})
	require.NoError(b, err)
	forwarded, err := forward.Open(b.TempDir(), protocol, forward.DefaultOptions("thanos"))
	require.NoError(b, err)
	defer func() { require.NoError(b, forwarded.Close(context.Background())) }()
	keep := grid.DefaultOptions()
	keep.RetentionTime = 0
	embedded, err := grid.Open(b.TempDir(), keep)
	require.NoError(b, err)
	defer func() { require.NoError(b, embedded.Close(context.Background())) }()
	fillDay(b, bothStores{embedded, forwarded}, 60_000)
	ring.Await()
	there, err := remote.New(ring.Querier.URL(), &http.Client{Transport: &http.Transport{}}, 5*time.Minute)
	require.NoError(b, err)
	b.Run("embedded", func(b *testing.B) { benchPage(b, embedded, cpuSeconds) })
	b.Run("thanos", func(b *testing.B) {
		benchPage(b, there, func() float64 { return cpuSeconds() + ring.CPUSeconds() })
	})
}

// bothStores writes the same data to both stores.
type bothStores struct {
	embedded *grid.Store
	there    *forward.Store
}

func (s bothStores) Append(ctx context.Context, upTo uint64, c *slice.Columns) (map[string]int, error) {
	rejected, err := s.there.Append(ctx, upTo, c)
	if err != nil || len(rejected) > 0 {
		return rejected, err
	}
	return s.embedded.Append(ctx, upTo, c)
}

func (s bothStores) Flush(ctx context.Context) error {
	return s.embedded.Flush(ctx)
}
