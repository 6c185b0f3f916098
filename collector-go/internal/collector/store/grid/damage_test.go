package grid

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/read"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// three returns a closed store with three parts of 100 slices each.
func three(t *testing.T) *harness {
	p := newHarness(t, tame)
	s := p.open(t)
	for i := range 3 {
		_, err := s.Append(t.Context(), uint64(i+1), numbers(today+int64(i)*1_000_000, 100))
		require.NoError(t, err)
		require.NoError(t, s.Flush(t.Context()))
	}
	require.NoError(t, s.Close(t.Context()))
	p.store = nil
	return p
}

func (p *harness) spoil(t *testing.T, name string, change func([]byte) []byte) {
	path := filepath.Join(dir, name)
	data := p.disk.Bytes(path)
	require.NotNil(t, data, name)
	p.disk.Put(path, change(data))
}

func flip(at int) func([]byte) []byte {
	return func(data []byte) []byte {
		data[(at+len(data))%len(data)] ^= 0x40
		return data
	}
}

func damages(t *testing.T, p *harness) (all []*run.DamageError) {
	require.NoError(t, Check(p.disk, dir, func(damage *run.DamageError) { all = append(all, damage) }))
	return all
}

// A part with a damaged footer is renamed. The rest can be queried, and the store continues.
func TestDamagedFooter(t *testing.T) {
	p := three(t)
	p.spoil(t, partName(2), flip(-1))
	found := damages(t, p)
	require.Len(t, found, 1)
	assert.Equal(t, filepath.Join(dir, partName(2)), found[0].File)
	assert.Equal(t, []int64{today + 1_000_000, today + 1_990_000}, []int64{found[0].FromMs, found[0].ToMs},
		"the manifest states what it costs")
	s := p.open(t)
	assert.Equal(t, uint64(3), s.Durable())
	assert.Equal(t, 200, count(t, s))
	assert.Equal(t, 1.0, testutil.ToFloat64(s.figures.damaged.WithLabelValues("part")))
	assert.NotNil(t, p.disk.Bytes(filepath.Join(dir, damagedName(partName(2), now))),
		"it stays for those who want to look")
	require.NoError(t, s.Close(t.Context()))
	s = p.open(t)
	assert.Zero(t, testutil.ToFloat64(s.figures.damaged.WithLabelValues("missing")), "it is noted once")
	assert.Equal(t, 200, count(t, s))
}

// An empty part file is set aside like any other damaged part.
func TestEmptyPart(t *testing.T) {
	p := three(t)
	p.spoil(t, partName(2), func([]byte) []byte { return []byte{} })
	require.Len(t, damages(t, p), 1)
	s := p.open(t)
	assert.Equal(t, 200, count(t, s))
	assert.Equal(t, 1.0, testutil.ToFloat64(s.figures.damaged.WithLabelValues("part")))
	require.NoError(t, s.Close(t.Context()))
}

func TestMissingPart(t *testing.T) {
	p := three(t)
	require.NoError(t, p.disk.Remove(filepath.Join(dir, partName(1))))
	require.Len(t, damages(t, p), 1)
	s := p.open(t)
	assert.Equal(t, 200, count(t, s))
	assert.Equal(t, 1.0, testutil.ToFloat64(s.figures.damaged.WithLabelValues("missing")))
}

// A damaged manifest loses no slices in parts. The store then consists of the previous manifest and the existing parts,
// and the journal is replayed from the earlier position.
func TestDamagedManifest(t *testing.T) {
	p := three(t)
	l, err := list(p.disk, dir)
	require.NoError(t, err)
	require.Len(t, l.manifests, 2)
	p.spoil(t, manifestName(l.manifests[0]), flip(10))
	require.Len(t, damages(t, p), 1)
	s := p.open(t)
	assert.Equal(t, uint64(2), s.Durable())
	assert.Equal(t, 300, count(t, s))
	assert.Equal(t, 1.0, testutil.ToFloat64(s.figures.damaged.WithLabelValues("manifest")))
	rejected, err := s.Append(t.Context(), 3, numbers(today+2_000_000, 100))
	require.NoError(t, err)
	assert.Empty(t, rejected)
	require.NoError(t, s.Flush(t.Context()))
	assert.Equal(t, 300, count(t, s))
	require.NoError(t, s.Close(t.Context()))
	s = p.open(t)
	assert.Equal(t, uint64(3), s.Durable())
	assert.Equal(t, 300, count(t, s))
}

// Without any manifest, the store consists of the existing parts, and the whole journal is replayed.
func TestAllManifestsDamaged(t *testing.T) {
	p := three(t)
	l, err := list(p.disk, dir)
	require.NoError(t, err)
	for _, sequence := range l.manifests {
		p.spoil(t, manifestName(sequence), func(data []byte) []byte { return data[:len(data)/2] })
	}
	s := p.open(t)
	assert.Zero(t, s.Durable())
	assert.Equal(t, 300, count(t, s))
	_, err = s.Append(t.Context(), 4, numbers(today+3_000_000, 100))
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	s = p.open(t)
	assert.Equal(t, uint64(4), s.Durable())
	assert.Equal(t, 400, count(t, s))
}

// A damaged page loses its slices. Queries return warnings, and the part is not merged with others, so that its intact
// slices stay readable.
func TestDamagedPage(t *testing.T) {
	p := newHarness(t, tame)
	s := p.open(t)
	for i := range mergeFan {
		c := numbers(today+int64(i)*1_000_000, 100)
		for at := range c.Values {
			c.Values[at] = float64(at*at) / 7
		}
		_, err := s.Append(t.Context(), uint64(i+1), c)
		require.NoError(t, err)
		require.NoError(t, s.withTurn(t.Context(), s.write))
	}
	require.NoError(t, s.withTurn(t.Context(), s.write))
	done, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Close(done))
	p.spoil(t, partName(3), flip(20)) // after the magic of 8 bytes
	require.NotEmpty(t, damages(t, p))
	s = p.open(t)
	require.NoError(t, s.Flush(t.Context()))
	assert.Zero(t, testutil.ToFloat64(s.figures.merged))
	assert.Equal(t, 1.0, testutil.ToFloat64(s.figures.damaged.WithLabelValues("page")))

	sources, release, err := s.sources(0, farthestMs)
	require.NoError(t, err)
	defer func() {
		require.NoError(t, release())
		require.NoError(t, s.Close(t.Context()), "the end is as good as any other")
	}()
	q := read.NewQuerier(sources, 0, farthestMs, nil)
	set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "task", "0"))
	n := 0
	for set.Next() {
		for it := set.At().Iterator(nil); it.Next() != 0; n++ {
		}
	}
	require.NoError(t, set.Err())
	assert.Equal(t, (mergeFan-1)*100, n, "the rest answers")
	found, err := sources[2].Select(t.Context(), 0, farthestMs, nil)
	require.NoError(t, err)
	_, err = found[0].Reader.Runs(found[0].Ref, 0, farthestMs, nil)
	require.ErrorContains(t, err, partName(3), "and the part names what is missing")
}

// A query that reads a damaged page reports it. The log has the file and the time once, and the metric increases once,
// before any merge.
func TestAQueryReportsADamagedPage(t *testing.T) {
	p := three(t)
	p.spoil(t, partName(2), flip(20))
	log := &bytes.Buffer{}
	p.options.Logger = slog.New(slog.NewTextHandler(log, nil))
	s := p.open(t)
	require.Zero(t, testutil.ToFloat64(s.figures.damaged.WithLabelValues("page")))
	for range 3 {
		q, err := s.Querier(0, farthestMs)
		require.NoError(t, err)
		set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "task", "0"))
		for set.Next() {
			for it := set.At().Iterator(nil); it.Next() != 0; {
			}
		}
		require.NoError(t, set.Err())
		require.NotEmpty(t, set.Warnings())
		require.NoError(t, q.Close())
	}
	assert.Equal(t, 1.0, testutil.ToFloat64(s.figures.damaged.WithLabelValues("page")))
	assert.Equal(t, 1, strings.Count(log.String(), "a part is damaged"))
	assert.Contains(t, log.String(), filepath.Join(dir, partName(2)))
	assert.Contains(t, log.String(), "from="+time.UnixMilli(today+1_000_000).UTC().Format("2006-01-02T15:04:05"))
}

// A repaired store has everything that can be read, and is undamaged.
func TestRepair(t *testing.T) {
	p := three(t)
	p.spoil(t, partName(1), flip(-1))
	p.spoil(t, partName(2), flip(20))
	l, err := list(p.disk, dir)
	require.NoError(t, err)
	p.spoil(t, manifestName(l.manifests[0]), flip(3))
	p.options.FS = p.disk
	var cost []string
	require.NoError(t, Repair(dir, p.options, func(damage *run.DamageError) {
		cost = append(cost, filepath.Base(damage.File))
	}))
	assert.Contains(t, cost, partName(1))
	assert.Contains(t, cost, partName(2))
	assert.Contains(t, cost, manifestName(l.manifests[0]))
	assert.Empty(t, damages(t, p))
	for _, name := range []string{partName(1), partName(2), manifestName(l.manifests[0])} {
		assert.NotNil(t, p.disk.Bytes(filepath.Join(dir, damagedName(name, now))), name)
	}
	s := p.open(t)
	assert.Equal(t, 100, count(t, s))
	_, err = s.Append(t.Context(), 10, numbers(today, 300))
	require.NoError(t, err)
	assert.Equal(t, 300, count(t, s), "what is replayed fills the gaps")
}

// Retention deletes damaged files that were set aside, oldest first and before parts, and counts them. Files that an
// older program set aside count from when they are first seen.
func TestDamagedFilesExpire(t *testing.T) {
	for bound, change := range map[string]func(*harness){
		boundTime:  func(p *harness) { p.options.RetentionTime = 30 * 24 * time.Hour },
		boundBytes: func(p *harness) { p.options.RetentionBytes = 1 },
		boundFree:  func(p *harness) { p.options.MinFreeBytes = 1 << 20; p.disk.Fill() },
	} {
		t.Run(bound, func(t *testing.T) {
			p := three(t)
			at := now
			p.options.Now = func() time.Time { return at }
			p.disk.Put(filepath.Join(dir, partName(77)+damagedSuffix), make([]byte, 100))
			p.disk.Put(filepath.Join(dir, manifestName(77)+damagedSuffix), make([]byte, 10))
			p.spoil(t, partName(2), flip(-1))
			s := p.open(t)
			set := []string{damagedName(partName(77), now), damagedName(manifestName(77), now),
				damagedName(partName(2), now)}
			for _, name := range set {
				require.NotNil(t, p.disk.Bytes(filepath.Join(dir, name)), name)
			}
			assert.Greater(t, testutil.ToFloat64(s.figures.asideBytes), 110.0)
			require.NoError(t, s.withTurn(t.Context(), s.expire))
			require.Len(t, s.asides, 3, "nothing bounds them yet")
			require.NoError(t, s.Close(t.Context()))

			change(p)
			s = p.open(t)
			require.Len(t, s.asides, 3, "the time stays over a start")
			if bound == boundTime {
				at = now.Add(29 * 24 * time.Hour)
				require.NoError(t, s.withTurn(t.Context(), s.expire))
				require.Len(t, s.asides, 3)
				at = now.Add(31 * 24 * time.Hour)
			}
			_ = s.withTurn(t.Context(), s.expire)
			gone, left := set, 0.0
			if bound == boundFree { // deleting the first of them frees enough
				gone, left = set[2:], 110
			}
			for _, name := range gone {
				assert.Nil(t, p.disk.Bytes(filepath.Join(dir, name)), name)
			}
			assert.Equal(t, float64(len(gone)), testutil.ToFloat64(s.figures.asidesExpired.WithLabelValues(bound)))
			assert.Equal(t, left, testutil.ToFloat64(s.figures.asideBytes))
		})
	}
}
