package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// dataDirectory is one with three journal segments, a part in the store, and two checkpoints.
func dataDirectory(t *testing.T) string {
	dir := t.TempDir()
	o := journal.DefaultOptions()
	o.SegmentBytes = 4 << 10
	j, err := journal.Open(filepath.Join(dir, "journal"), o)
	require.NoError(t, err)
	producer, err := j.DefineProducer(journal.ProducerDefined{Topology: "t", TopologyID: "t-1", Host: "h", Port: 6700})
	require.NoError(t, err)
	id, err := j.Define(metric.Raw{Worker: metric.Worker{Topology: "t", Host: "h", Port: 6700}, Name: "x", Task: -1})
	require.NoError(t, err)
	atMs := time.Now().Add(-time.Hour).UnixMilli()
	for sequence := range uint64(200) {
		done := make(chan error, 1)
		_, err := j.Append(&journal.Batch{Producer: producer, Sequence: sequence, ReceivedMs: atMs + int64(sequence),
			IDs:     []journal.SeriesID{id},
			TimesMs: []int64{atMs}, Values: []float64{1}}, func(err error) { done <- err })
		require.NoError(t, err)
		require.NoError(t, <-done)
	}
	require.NoError(t, j.Close())
	store, err := grid.Open(filepath.Join(dir, datadir.Grid), datadir.KeepAll())
	require.NoError(t, err)
	c := &slice.Columns{}
	for ref := range slice.Ref(50) {
		c.Definitions = append(c.Definitions, slice.Definition{Ref: ref, IntervalMs: 10_000,
			Series: metric.Series{Kind: metric.KindGauge,
				Labels: labels.FromStrings("__name__", "x", "task", string(rune('a'+ref)))}})
		for i := range int64(50) {
			c.Refs, c.EndsMs, c.Values = append(c.Refs, ref), append(c.EndsMs, atMs/10_000*10_000+i*10_000),
				append(c.Values, float64(i*i*int64(ref)%977)/7)
		}
	}
	_, err = store.Append(t.Context(), 1, c)
	require.NoError(t, err)
	require.NoError(t, store.Close(t.Context()))
	saved, err := checkpoint.Open(filepath.Join(dir, "feeds", "embedded"), nil)
	require.NoError(t, err)
	require.NoError(t, saved.Save(5, []byte("\x01tate")))
	return dir
}

// flip changes a byte of the one file that a pattern finds; a negative offset counts from its end.
func flip(t *testing.T, pattern string, offset int) {
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, found, pattern)
	data, err := os.ReadFile(found[0])
	require.NoError(t, err)
	if offset < 0 {
		offset += len(data)
	}
	data[offset] ^= 0xff
	require.NoError(t, os.WriteFile(found[0], data, 0o640))
}

func fsck(t *testing.T, args ...string) (string, int) {
	root, out := newRootCommand(), &bytes.Buffer{}
	root.SetArgs(append([]string{"fsck"}, args...))
	root.SetOut(out)
	err := root.ExecuteContext(t.Context())
	if err == nil {
		return out.String(), exitDone
	}
	return out.String(), exitCode(err)
}

func TestFsckNamesWhatIsDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		where  string
		what   string
		repair bool // --repair mends it
	}{
		"journal record": {func(t *testing.T, dir string) { flip(t, dir+"/journal/0000000001.segment", 2000) },
			"journal", "0000000001.segment", false},
		"journal segment": {
			func(t *testing.T, dir string) { require.NoError(t, os.Remove(dir+"/journal/0000000002.segment")) },
			"journal", "0000000002.segment: is missing", false},
		"page":   {func(t *testing.T, dir string) { flip(t, dir+"/grid/*.part", 40) }, "store", ".part", true},
		"footer": {func(t *testing.T, dir string) { flip(t, dir+"/grid/*.part", -3) }, "store", ".part", true},
		"manifest": {func(t *testing.T, dir string) { flip(t, dir+"/grid/manifest-*", 40) }, "store",
			"manifest", true},
		"checkpoint": {func(t *testing.T, dir string) { flip(t, dir+"/feeds/embedded/checkpoint-*", -1) },
			"checkpoints", "checkpoint-", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := dataDirectory(t)
			out, code := fsck(t, dir)
			require.Equal(t, exitDone, code, out)
			c.damage(t, dir)
			out, code = fsck(t, dir, "--output", "json")
			assert.Equal(t, exitFailed, code)
			var found datadir.Report
			require.NoError(t, json.Unmarshal([]byte(out), &found))
			require.NotEmpty(t, found.Findings)
			assert.Equal(t, len(found.Findings), found.Damaged)
			assert.Equal(t, c.where, found.Findings[0].Where)
			assert.Contains(t, found.Findings[0].What, c.what)
			assert.False(t, found.Repaired)
			text, _ := fsck(t, dir)
			assert.Contains(t, text, c.where+": ")

			_, code = fsck(t, dir, "--repair")
			assert.Equal(t, exitFailed, code, "what was found is said once more")
			_, code = fsck(t, dir)
			if c.repair {
				assert.Equal(t, exitDone, code, "the store has no damage any more")
			} else {
				assert.Equal(t, exitFailed, code, "journal and checkpoints stay as they are")
			}
		})
	}
}

func TestFsckUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {t.TempDir(), "--output", "xml"}} {
		_, code := fsck(t, args...)
		assert.Equal(t, exitUsage, code, args)
	}
	_, code := fsck(t, t.TempDir())
	assert.Equal(t, exitFailed, code, "not a data directory")
}
