package embedded

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/storetest"
)

// place is an embedded store in a directory of a test.
type place struct {
	base    string
	lives   int
	options Options
	store   *Store
}

func newPlace(t testing.TB, change ...func(*Options)) *place {
	p := &place{base: memoryDir(t), options: DefaultOptions()}
	for _, f := range change {
		f(&p.options)
	}
	t.Cleanup(func() { p.drop() })
	return p
}

// memoryDir is a directory in memory where the machine has one: the suite syncs thousands of files.
func memoryDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "embedded-store-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (p *place) dir() string { return filepath.Join(p.base, strconv.Itoa(p.lives)) }

func (p *place) Open(t require.TestingT) storetest.Store { return p.open(t) }

func (p *place) open(t require.TestingT) *Store {
	p.drop()
	s, err := Open(p.dir(), p.options)
	require.NoError(t, err)
	p.store = s
	return s
}

func (p *place) Settle(require.TestingT) { p.store.writers.Wait() }

// Kill copies what lies on the disk at one moment, head chunks and half-written blocks included, and goes on with the copy.
func (p *place) Kill(t require.TestingT) {
	old := p.dir()
	p.lives++
	for before := ""; before != listing(t, old); {
		before = listing(t, old)
		require.NoError(t, os.RemoveAll(p.dir()))
		require.NoError(t, copyTree(old, p.dir()))
	}
	p.drop()
	require.NoError(t, os.RemoveAll(old))
}

// listing tells two moments apart: the blocks and half-written blocks of a store, and its cursor.
func listing(t require.TestingT, dir string) string {
	blocks, err := os.ReadDir(filepath.Join(dir, blocksDir))
	require.NoError(t, err)
	cursor, err := readCursor(dir)
	require.NoError(t, err)
	return fmt.Sprint(blocks, cursor)
}

// drop ends the store without flushing it.
func (p *place) drop() {
	if p.store != nil {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.store.Close(done)
		p.store = nil
	}
}

func (p *place) Want(handed []storetest.Handed) map[string][]storetest.Point {
	return storetest.Exact(handed)
}

func (p *place) Values() []float64 { return storetest.EveryValue }

func (p *place) Window() time.Duration { return p.options.OutOfOrderWindow }

func (p *place) Read(t require.TestingT) map[string][]storetest.Point { return read(t, p.store) }

func read(t require.TestingT, s *Store) map[string][]storetest.Point {
	q, err := s.Querier(0, 1<<60)
	require.NoError(t, err)
	defer q.Close()
	all := map[string][]storetest.Point{}
	set := q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchNotEqual, model.MetricNameLabel, ""))
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
	return all
}

// copyTree copies a directory while files come and go in it; what vanishes meanwhile is left out, as a kill would.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // gone since it was listed
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, inside), 0o777)
		}
		data, err := os.ReadFile(path)
		if err != nil || d.Name() == "lock" {
			return nil //nolint:nilerr // gone since it was listed
		}
		return os.WriteFile(filepath.Join(to, inside), data, 0o666)
	})
}
