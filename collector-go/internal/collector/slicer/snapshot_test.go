package slicer

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// goldenScript creates a state that contains one of everything: open samples of all kinds, a restart, a gap, an orphan,
// a replaced info, a refused series, and a disconnected producer.
const goldenScript = `
option max_series 7
define 1 gauge heap interval=1 pack=10
define 2 cumulative cpu interval=1 pack=10
define 3 start started interval=1 pack=10
define 4 deltas latency interval=10
define 5 distribution engine interval=10
define 6 delta acked interval=60
define 7 gauge queue interval=10 worker=w:2
define 8 gauge one_too_many
describe w:1 worker_info worker=w:1 pid=3
describe w:2 topology_info id=1
connect 7
connect 8
tick 5
batch 7: 1@11=5 2@11=100 3@11=3 4@11={3:1*2,9*1;1} 5@12={2:1*2;1} 6@11=4 7@11=1
batch 8: 1@12=6 2@12=7 3@12=12 8@12=1
tick 6
batch 7: 1@71=5 2@71=9 7@30=1 7@71=2
describe w:1 worker_info worker=w:1 pid=4
detach 7
define 9 gauge queue interval=60 worker=w:2
batch 7: 9@80=4 5@70={2:1*1;0} 4@73={3:1*2;0} 7@80=9
disconnect 8
`

func golden(t *testing.T, script string) *Slicer {
	p := newPlayer(t)
	for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		p.do(strings.Fields(line))
	}
	return p.slicer
}

// goldenHealth adds collection health, of three metrics separately and the rest together.
const goldenHealth = `option health 30` + goldenScript + `dropped w:1 queue_full 3
dropped w:1 expired 0
batch 7: received 130 1@121=5 7@122=3
batch 7: received 199 1@200=5 1@40=1 7@190=-1
`

// goldenRecent adds a counter's values for which a restart is still undecided. It is the state in the golden file of
// version 3, which release 0.1.0 wrote.
const goldenRecent = goldenHealth + `batch 7: 2@201=10 2@211=12 2@221=12
batch 7: 1@240=5
`

// goldenNow adds what version 9 contains in addition: rows of several origins and a sample whose cell is taken; a
// counter whose last sample is of the series that had its output before; clock offsets and the series that report them;
// undecided falls and a time that occurred again.
const goldenNow = goldenRecent + `batch 7: 1@241=5 1@241.5=7 1@242=6 2@241=13
batch 8: 2@242=14 1@243=5
detach 2
define 10 cumulative cpu interval=2 pack=10
batch 7: 1@265=5
batch 8: received 251 sent 250.5 answered 249.3/249 1@250=5
batch 7: received 400 sent 399 answered 399.1/399.2 1@391=5
batch 7: 5@380={2:1*9;1} 10@380=20
batch 8: 5@390={2:1*3;1} 10@390=9
batch 7: 1@391=5 1@390=4
batch 7: 1@450=5
`

// TestGoldenSnapshots checks that the snapshots of all released versions can be restored.
func TestGoldenSnapshots(t *testing.T) {
	o := DefaultOptions()
	o.MaxSeries, o.Health = 7, testHealth(30_000)
	old, err := os.ReadFile("testdata/slicer-v3.snapshot")
	require.NoError(t, err)
	s, err := Restore(old, o)
	require.NoError(t, err)
	require.Equal(t, golden(t, goldenRecent).Counts().InSlices, s.Counts().InSlices)
	p := &player{t: t, options: o, slicer: s, sequence: 100, names: map[slice.Ref]string{}}
	said := p.do(strings.Fields("batch 7: 1@320=5"))
	require.Contains(t, said, "210 all_samples,topology=t 16",
		"its counts go on, and what is new begins with what it is")
	require.NotContains(t, strings.Join(said, "\n"), "NaN")

	const file = "testdata/slicer-v9.snapshot"
	carrying := golden(t, goldenNow)
	for name := range carrying.topologyStates {
		carrying.SoleSender(1, name, true)
		carrying.Acquire(1, name)
		carrying.AdvanceTopology(1, 1_000_000)
	}
	carrying.closed.Reset()
	want := carrying.Snapshot()
	if *update {
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	s, err = Restore(data, o)
	require.NoError(t, err)
	require.Equal(t, want, s.Snapshot())
	require.Equal(t, carrying.Counts(), s.Counts())
	require.Equal(t, data, want, "the format changed: raise its version, keep the old file")
}

func TestRestoreReturnsWhatIsWrong(t *testing.T) {
	data := golden(t, goldenHealth).Snapshot()
	_, err := Restore(data[:len(data)-1], DefaultOptions())
	assert.ErrorContains(t, err, "checksum")
	_, err = Restore([]byte("something else"), DefaultOptions())
	assert.ErrorContains(t, err, "does not begin with")
	_, err = Restore(sealed([]byte(magic+"\x0a")), DefaultOptions())
	assert.ErrorContains(t, err, "version is 10")
	_, err = Restore(sealed([]byte(magic+"\x07")), DefaultOptions())
	assert.EqualError(t, err, "restore the slicer: its format is version 7, but this program supports only 3 and 9")
	_, err = Restore(data, Options{})
	assert.ErrorContains(t, err, "slice width 0 ms")
}

// TestRestoreWithOtherWidths checks that other widths take effect at once: open samples move to new slices, and closed
// slices do not change.
func TestRestoreWithOtherWidths(t *testing.T) {
	p := newPlayer(t)
	for line := range strings.SplitSeq(`define 1 gauge heap interval=1
define 2 cumulative cpu interval=10
connect 7
batch 7: 1@10=1 2@10=1
batch 7: 1@41=5 2@41=4
batch 7: 1@49=7 2@49=5`, "\n") {
		p.do(strings.Fields(line))
	}
	p.options.WidthMs = 20_000
	p.options.Widths = map[string]int64{"cpu": 30_000}
	assert.Equal(t, []string{"20 heap gap", "20 heap_min gap", "20 heap_max gap", "60 heap 6", "60 heap_min 5",
		"60 heap_max 7", "60 cpu 5"},
		append(p.do([]string{"restart"}), p.do([]string{"close"})...))
	assert.Equal(t, "in_slices 6 open 0 late 0 refused map[]", p.counts())
}

// sealed appends the checksum, so that fuzzing passes the check.
func sealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

func FuzzRestore(f *testing.F) {
	p := newPlayer(&testing.T{})
	for line := range strings.SplitSeq(strings.TrimSpace(goldenHealth), "\n") {
		p.do(strings.Fields(line))
	}
	snapshot := p.slicer.Snapshot()
	f.Add(snapshot[len(magic) : len(snapshot)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := Restore(sealed(append([]byte(magic), body...)), DefaultOptions())
		if err != nil {
			return
		}
		again, err := Restore(s.Snapshot(), DefaultOptions())
		require.NoError(t, err)
		require.Equal(t, s.Snapshot(), again.Snapshot())
		s.beginBatch(7, 1)
		for id := range uint32(10) {
			s.Add(id, 100_000, 1)
		}
		s.endBatch()
		s.Tick(s.tickMs + 1000)
		s.Describe(metric.Worker{}, metric.Series{Labels: labels.FromStrings("__name__", "info")})
		s.CloseAll()
		s.sweep()
	})
}
