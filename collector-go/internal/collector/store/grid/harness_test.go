package grid

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is a grid store on a disk in memory.
type harness struct {
	disk    *disktest.Memory
	options Options
	store   *Store
}

const dir = "/grid"

// now is the time of the tests, which is some time after the slices of the suite.
var now = time.UnixMilli(1_700_000_000_000).Add(24 * time.Hour)

func newHarness(t testing.TB, change ...func(*Options)) *harness {
	p := &harness{disk: disktest.NewMemory(1), options: DefaultOptions()}
	p.options.FlushHandOvers, p.options.ReclaimAfter = 20, 0
	p.options.Now = func() time.Time { return now }
	for _, f := range change {
		f(&p.options)
	}
	t.Cleanup(p.drop)
	return p
}

func (p *harness) Open(t require.TestingT) storetest.Store { return p.open(t) }

func (p *harness) open(t require.TestingT) *Store {
	p.drop()
	p.options.FS = p.disk
	s, err := Open(dir, p.options)
	require.NoError(t, err)
	p.store = s
	return s
}

func (p *harness) Settle(require.TestingT) { p.store.workers.Wait() }

// Kill ends the store, whatever it is doing.
func (p *harness) Kill(require.TestingT) { p.reboot(false) }

func (p *harness) reboot(powerLoss bool) {
	next := p.disk.Reboot(powerLoss)
	p.drop()
	p.disk = next
}

// drop ends the store without flushing it.
func (p *harness) drop() {
	if p.store != nil {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.store.Close(done)
		p.store = nil
	}
}

func (p *harness) Want(handed []storetest.Handed) map[string][]storetest.Point {
	return storetest.Exact(handed)
}

func (p *harness) Values() []float64 { return storetest.EveryValue }

func (p *harness) Window() time.Duration { return 0 }

func (p *harness) Read(t require.TestingT) map[string][]storetest.Point { return readAll(t, p.store) }

func readAll(t require.TestingT, s *Store) map[string][]storetest.Point {
	q, err := s.Querier(-farthestMs, farthestMs)
	require.NoError(t, err)
	defer q.Close()
	all := map[string][]storetest.Point{}
	set := q.Select(context.Background(), true, nil,
		labels.MustNewMatcher(labels.MatchNotEqual, model.MetricNameLabel, ""))
	for set.Next() {
		key := set.At().Labels().String()
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind == chunkenc.ValFloat {
				ms, v := it.At()
				all[key] = append(all[key], storetest.Number(ms, v))
				continue
			}
			ms, h := it.AtFloatHistogram(nil)
			all[key] = append(all[key], storetest.Distribution(ms, h))
		}
		require.NoError(t, it.Err())
	}
	require.NoError(t, set.Err())
	require.Empty(t, set.Warnings())
	return all
}
