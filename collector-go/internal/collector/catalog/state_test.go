package catalog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

func heap(intervalMs int64) metric.Raw {
	return metric.Raw{Worker: worker, Component: "__system", Task: -1, Name: "memory.heap.used",
		Shape: metric.ShapeNumber, IntervalMs: intervalMs}
}

func sampledHeap() metric.Raw {
	return metric.Raw{Worker: worker, Component: "__system", Task: -1, Name: "heap.used_bytes",
		Shape: metric.ShapeSampler, IntervalMs: 1000, PackSpanMs: 10_000}
}

func sampledGC() metric.Raw {
	return metric.Raw{Worker: worker, Component: "__system", Task: -1, Name: "gc.count", Key: "Copy",
		Shape: metric.ShapeSampler, IntervalMs: 1000, PackSpanMs: 10_000}
}

// say returns changes as text, such as "1 stored" or "2 left_out sampler".
func say(changes []Change) (said []string) {
	for _, c := range changes {
		outcome := map[Outcome]string{Stored: "stored", LeftOut: "left out:", Refused: "refused:",
			Inactive: "inactive"}[c.Verdict.Outcome]
		said = append(said, strings.TrimSpace(fmt.Sprintf("%d %s %s", c.ID, outcome, c.Verdict.Reason)))
	}
	return said
}

func TestSamplerOverrulesStorm(t *testing.T) {
	s := NewState(DefaultOptions())
	assert.Equal(t, []string{"1 stored"}, say(s.Define(1, new(heap(60_000)))))
	assert.Empty(t, say(s.Define(1, new(heap(60_000)))), "again")

	other := heap(60_000)
	other.Port++
	assert.Equal(t, []string{"2 stored"}, say(s.Define(2, new(other))))

	assert.Equal(t, []string{"3 stored"}, say(s.Define(3, new(sampledGC()))), "the sampler's heap may never come")
	assert.Equal(t, []string{"1 left out: sampler", "4 stored"}, say(s.Define(4, new(sampledHeap()))))
	assert.Empty(t, say(s.Define(5, new(heap(10_000)))), "Storm's heap at another interval is not stored either")

	verdict, changes := s.Judge(5)
	assert.Equal(t, Verdict{Outcome: LeftOut, Reason: ReasonSampler}, verdict)
	assert.Empty(t, changes)
	verdict, changes = s.Judge(2)
	assert.Equal(t, Stored, verdict.Outcome, "another worker's")
	assert.Equal(t, []string{"2 stored"}, say(changes), "the slicer lost it")
	s.CountRetracted(1, 3)
	assert.Equal(t, map[string]uint64{ReasonSampler: 4}, s.Counts().LeftOut)
}

func TestTheShorterIntervalIsStored(t *testing.T) {
	active := func(intervalMs int64) metric.Raw {
		return metric.Raw{Worker: worker, Component: "JoinBolt", Task: 5, Name: "bullet_active_queries",
			Shape: metric.ShapeNumber, IntervalMs: intervalMs}
	}
	s := NewState(DefaultOptions())
	assert.Equal(t, []string{"7 stored"}, say(s.Define(7, new(active(60_000)))))
	assert.Equal(t, []string{"7 left out: repeat", "8 stored"}, say(s.Define(8, new(active(10_000)))))
	assert.Empty(t, say(s.Define(9, new(active(30_000)))))

	// Submitted again under its name, the topology reports once a minute.
	assert.Empty(t, s.TopologyStarted("bullet", "bullet-1-100"), "the first id is nothing new")
	assert.Equal(t, []string{"8 inactive"}, say(s.TopologyStarted("bullet", "bullet-2-200")))
	assert.Empty(t, s.TopologyStarted("bullet", "bullet-1-100"), "an old id said again")
	verdict, changes := s.Judge(7)
	assert.Equal(t, Stored, verdict.Outcome)
	assert.Equal(t, []string{"7 stored"}, say(changes))
}

// TestStormsReleaseShowsInItsMaps checks that maps identify the release. Until 2.2 Storm counts skipped time since the
// last report, from 2.3 on since the process started.
func TestStormsReleaseShowsInItsMaps(t *testing.T) {
	of := func(name, key string, shape metric.Shape) metric.Raw {
		return metric.Raw{Worker: worker, Component: "spout", Task: 1, Name: name, Key: key, Shape: shape,
			IntervalMs: 60_000}
	}
	skipped, mapped := of("__skipped-max-spout-ms", "", metric.ShapeNumber),
		of("__receive", "population", metric.ShapeMap)
	s := NewState(DefaultOptions())
	changes := s.Define(1, new(skipped))
	require.Equal(t, []string{"1 stored"}, say(changes))
	assert.Equal(t, metric.Cumulative, changes[0].Rule.Temporality, "as from 2.3, until a map is heard")

	changes = s.Define(2, new(mapped))
	require.Equal(t, []string{"1 stored", "2 stored"}, say(changes))
	assert.Equal(t, metric.Delta, changes[0].Rule.Temporality)
	assert.Equal(t, []string{"3 stored"}, say(s.Define(3, new(of("acked", "", metric.ShapeNumber)))), "a user's own")
	assert.Equal(t, []string{"5 stored", "3 left out: repeat"},
		say(s.Define(5, new(of("__ack-count", "default", metric.ShapeMap)))))
	changes = s.Define(4, new(of("__reported-error-count", "", metric.ShapeNumber)))
	assert.Equal(t, metric.Delta, changes[0].Rule.Temporality)

	restored, err := Restore(s.Snapshot(), DefaultOptions())
	require.NoError(t, err)
	for _, c := range restored.Resume() {
		if c.ID == 1 {
			assert.Equal(t, metric.Delta, c.Rule.Temporality, "known after a restart")
		}
	}

	// The topology is submitted to a newer Storm under the same name.
	s.TopologyStarted("bullet", "bullet-1-100")
	s.TopologyStarted("bullet", "bullet-2-200")
	_, changes = s.Judge(1)
	require.Equal(t, []string{"1 stored"}, say(changes))
	assert.Equal(t, metric.Cumulative, changes[0].Rule.Temporality)
}

func TestTwoNamesThatBecomeOne(t *testing.T) {
	s := NewState(DefaultOptions())
	mine := func(name string) metric.Raw {
		return metric.Raw{Worker: worker, Component: "c", Task: 1, Name: name, Shape: metric.ShapeNumber,
			IntervalMs: 1000}
	}
	assert.Equal(t, []string{"1 stored"}, say(s.Define(1, new(mine("a.b")))))
	assert.Empty(t, say(s.Define(2, new(mine("a/b")))))
	verdict, _ := s.Judge(2)
	assert.Equal(t, Verdict{Outcome: Refused, Reason: ReasonCollision}, verdict)
	assert.Equal(t, []string{"1 refused: collision", "3 stored"}, say(s.Define(3, new(mine("a_b")))),
		"the name that is the same here")
	assert.Equal(t, 1, s.Counts().Unknown)
}

func TestSeriesAreBounded(t *testing.T) {
	s := NewState(Options{MaxSeries: 2})
	s.TopologyStarted("bullet", "bullet-1-100")
	s.Define(1, new(heap(60_000)))
	s.Define(2, new(sampledGC()))
	assert.Empty(t, s.Define(3, new(sampledHeap())))
	verdict, _ := s.Judge(3)
	assert.Equal(t, ReasonSeriesLimit, verdict.Reason)

	// Inactive series are forgotten when the limit is reached.
	s.TopologyStarted("bullet", "bullet-2-200")
	s.Judge(2)
	assert.Equal(t, []string{"3 stored"}, say(s.Define(3, new(sampledHeap()))))
	verdict, _ = s.Judge(1)
	assert.Equal(t, ReasonSeriesLimit, verdict.Reason, "1 was forgotten")
}

// TestVerdictsDoNotDependOnOrder checks that the stored series depends on which series are active, and not on the order
// in which they arrived. A restored state gives the same verdicts.
func TestVerdictsDoNotDependOnOrder(t *testing.T) {
	all := []metric.Raw{heap(60_000), heap(10_000), sampledHeap(), sampledGC(), heap(0)}
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.Permutation([]uint32{0, 1, 2, 3, 4}).Draw(t, "order")
		ids = ids[:rapid.IntRange(1, len(ids)).Draw(t, "defined")]
		stored := make(map[uint32]bool)
		apply := func(changes []Change) {
			for _, c := range changes {
				delete(stored, c.ID)
				if c.Verdict.Outcome == Stored {
					stored[c.ID] = true
				}
			}
		}
		s := NewState(DefaultOptions())
		for _, id := range ids {
			apply(s.Define(id, new(all[id])))
			if rapid.Bool().Draw(t, "restart") {
				var err error
				s, err = Restore(s.Snapshot(), DefaultOptions())
				require.NoError(t, err)
				apply(s.Resume())
			}
		}
		require.Equal(t, storedOf(ids), stored)
	})
}

// storedOf returns by hand which of the series above must be stored.
func storedOf(ids []uint32) map[uint32]bool {
	has := make(map[uint32]bool)
	for _, id := range ids {
		has[id] = true
	}
	stored := make(map[uint32]bool)
	switch {
	case has[2]:
		stored[2] = true
	case has[1]:
		stored[1] = true
	case has[0]:
		stored[0] = true
	case has[4]:
		stored[4] = true
	}
	if has[3] {
		stored[3] = true
	}
	return stored
}

// golden returns a state with one of everything.
func golden() *State {
	s := goldenVersion1()
	s.Describe("bullet", "bullet-2-200", Facts{Storm: "2.8.4", Components: map[string]bool{"ns:spout": true,
		"JoinBolt": false}})
	return s
}

// goldenVersion1 returns a state without facts that senders state.
func goldenVersion1() *State {
	s := NewState(DefaultOptions())
	s.TopologyStarted("bullet", "bullet-1-100")
	s.Define(1, new(heap(60_000)))
	s.Define(4, &metric.Raw{Worker: worker, Component: "ReplayBolt", Task: 9, Name: "bullet_active_replays",
		Key: "FilterBolt-3", Shape: metric.ShapeMap, IntervalMs: 10_000})
	s.TopologyStarted("bullet", "bullet-2-200")
	s.Define(2, new(sampledHeap()))
	s.Judge(1)
	s.Judge(7)
	return s
}

// TestGoldenSnapshots checks that the snapshots of all released versions can be restored.
func TestGoldenSnapshots(t *testing.T) {
	const newest = "testdata/catalog-v2.snapshot"
	if *update {
		require.NoError(t, os.WriteFile(newest, golden().Snapshot(), 0o644))
	}
	for file, state := range map[string]*State{"testdata/catalog-v1.snapshot": goldenVersion1(), newest: golden()} {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := Restore(data, DefaultOptions())
		require.NoError(t, err)
		require.Equal(t, state.Snapshot(), s.Snapshot(), file)
		require.Equal(t, state.Counts(), s.Counts(), file)
		if file == newest {
			require.Equal(t, data, s.Snapshot(), "the format changed: raise its version, keep the old file")
		}
	}
}

func TestRestoreSaysWhatIsWrong(t *testing.T) {
	data := golden().Snapshot()
	_, err := Restore(data[:len(data)-1], DefaultOptions())
	assert.ErrorContains(t, err, "checksum")
	_, err = Restore([]byte("something else"), DefaultOptions())
	assert.ErrorContains(t, err, "does not begin with")
	_, err = Restore(sealed([]byte(magic+"\x07")), DefaultOptions())
	assert.ErrorContains(t, err, "version is 7")
}

// sealed appends the checksum, so that fuzzing passes the check.
func sealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

func FuzzRestore(f *testing.F) {
	snapshot := golden().Snapshot()
	f.Add(snapshot[len(magic) : len(snapshot)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := Restore(sealed(append([]byte(magic), body...)), Options{MaxSeries: 1000})
		if err != nil {
			return
		}
		again, err := Restore(s.Snapshot(), Options{MaxSeries: 1000})
		require.NoError(t, err)
		require.Equal(t, s.Snapshot(), again.Snapshot())
		s.Resume()
		s.Judge(1)
		s.Define(1, new(sampledHeap()))
	})
}

// Judge decides about one sample.
func (s *State) Judge(id uint32) (Verdict, []Change) { return s.JudgeSamples(id, 1) }
