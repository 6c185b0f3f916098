package registry

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backoff limits how long a test waits for something that should take no time, so that a bug fails a test instead of
// blocking it.
const backoff = 30 * time.Second

// retention releases the journal for one reader. With keep, another reader needs everything.
type retention struct {
	journal *journal.Journal
	keep    bool
}

func (retention) Join(string, func(journal.Position)) {}

func (r retention) Need(_ string, p journal.Position) error {
	if p == 0 || r.keep {
		return nil
	}
	return r.journal.Release(p)
}

// world is a registry with a real journal and one producer.
type world struct {
	t        *testing.T
	dir      string
	options  Options
	journal  *journal.Journal
	registry *Registry
	producer journal.ProducerID
	series   journal.SeriesID
	clock    int64
	sequence uint64
	keep     bool
	ran      chan error
	cancel   context.CancelFunc
}

func newWorld(t *testing.T, change ...func(*world)) *world {
	w := &world{t: t, dir: t.TempDir(), clock: t0}
	w.options = DefaultOptions(filepath.Join(w.dir, "registry"))
	w.options.CheckpointTicks = 7
	w.options.Now = func() time.Time { return time.UnixMilli(w.clock) }
	for _, f := range change {
		f(w)
	}
	w.open()
	return w
}

func (w *world) open() {
	require.NoError(w.t, w.tryOpen())
	w.ran = make(chan error, 1)
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	registry := w.registry
	go func() { w.ran <- registry.Run(ctx) }()
	w.define()
}

// define defines the world's producer and its series.
func (w *world) define() {
	var err error
	w.producer, err = w.journal.DefineProducer(journal.ProducerDefined{Topology: "t", TopologyID: "t-1-1799999990",
		Host: "h", Port: 6700, Task: 9})
	require.NoError(w.t, err)
	w.series, err = w.journal.Define(metric.Raw{Worker: metric.Worker{Topology: "t", Host: "h", Port: 6700},
		Component: "FilterBolt", Task: 3, Name: "x", IntervalMs: 10_000})
	require.NoError(w.t, err)
	require.NoError(w.t, w.journal.AppendControl(&journal.Connected{Producer: w.producer, TimeMs: w.clock}))
}

// tryOpen opens the journal and the registry. If that fails, it leaves neither open.
func (w *world) tryOpen() (err error) {
	o := journal.DefaultOptions()
	o.SegmentBytes = 4 << 10
	w.journal, err = journal.Open(filepath.Join(w.dir, "journal"), o)
	require.NoError(w.t, err)
	if w.registry, err = New(w.journal, retention{w.journal, w.keep}, w.options); err != nil {
		require.NoError(w.t, w.journal.Close())
	}
	return err
}

// close ends like the collector: it closes the journal first, and then the registry reads it to its end.
func (w *world) close() {
	require.NoError(w.t, w.journal.Close())
	require.NoError(w.t, <-w.ran)
	w.cancel()
}

// crash ends the registry without a last checkpoint.
func (w *world) crash() {
	w.cancel()
	require.NoError(w.t, <-w.ran)
	require.NoError(w.t, w.journal.Close())
}

func (w *world) send(notes *bulletmetricsv1.Batch) {
	w.sequence++
	b := &journal.Batch{Producer: w.producer, Epoch: journal.Epoch{1}, Sequence: w.sequence, SentMs: w.clock,
		ReceivedMs: w.clock, Notes: notes,
		IDs: []journal.SeriesID{w.series}, TimesMs: []int64{w.clock}, Values: []float64{1}}
	done := make(chan error, 1)
	_, err := w.journal.Append(b, func(err error) { done <- err })
	require.NoError(w.t, err)
	require.NoError(w.t, <-done)
}

func (w *world) seconds(n int) {
	for range n {
		w.clock += 1000
		w.send(nil)
		require.NoError(w.t, w.journal.AppendControl(&journal.Tick{TimeMs: w.clock}))
	}
}

func (w *world) info(settings map[string]string) {
	w.send(&bulletmetricsv1.Batch{Topology: &bulletmetricsv1.TopologyInfo{StormVersion: "2.8.3", Settings: settings}})
}

// annotated waits until n annotations can be read, and returns their titles.
func (w *world) annotated(n int) (titles []string) {
	require.Eventually(w.t, func() bool { return len(w.registry.Annotations(everything)) >= n }, backoff,
		time.Millisecond)
	for _, a := range w.registry.Annotations(everything) {
		titles = append(titles, a.Title)
	}
	return titles
}

var everything = Filter{ToMs: 1 << 60}

func (w *world) files() []string {
	files, err := filepath.Glob(filepath.Join(w.options.Dir, "checkpoint-*"))
	require.NoError(w.t, err)
	return files
}

// requestingCheckpoint is a retention that can request checkpoints.
type requestingCheckpoint struct {
	retention
	requestCheckpoint func(upTo journal.Position)
}

func (h *requestingCheckpoint) Join(_ string, requestCheckpoint func(journal.Position)) {
	h.requestCheckpoint = requestCheckpoint
}

// If the journal is full, the registry saves checkpoints before they are due. With the second one, the journal can
// release what came before the first.
func TestARegistryInAHurryKeepsACheckpoint(t *testing.T) {
	w := newWorld(t, func(w *world) { w.options.CheckpointTicks = 1e9 })
	w.crash()
	asked := &requestingCheckpoint{}
	w.options.Dir = filepath.Join(w.dir, "hurried")
	o := journal.DefaultOptions()
	o.SegmentBytes = 4 << 10
	var err error
	w.journal, err = journal.Open(filepath.Join(w.dir, "journal"), o)
	require.NoError(t, err)
	asked.journal = w.journal
	w.registry, err = New(w.journal, asked, w.options)
	require.NoError(t, err)
	go func() { w.ran <- w.registry.Run(context.Background()) }()
	w.define()
	w.seconds(200)
	await := func() journal.Position {
		end := w.journal.Durable()
		require.Eventually(t, func() bool { return w.registry.Position() >= uint64(end) }, backoff, time.Millisecond)
		return end
	}
	end := await()
	require.Zero(t, w.journal.Oldest(), "no checkpoint was due")
	asked.requestCheckpoint(1 << 62) // the registry has not read up to there
	w.seconds(1)
	await()
	require.Empty(t, w.files())
	for n := range 2 {
		asked.requestCheckpoint(end)
		w.seconds(1)
		require.Eventually(t, func() bool { return len(w.files()) == n+1 }, backoff, time.Millisecond)
	}
	require.Eventually(t, func() bool { return w.journal.Oldest() > 0 }, backoff, time.Millisecond)
	w.close()
}

func TestWhatTheJournalHasLetGoOfIsInTheCheckpoint(t *testing.T) {
	w := newWorld(t)
	w.info(map[string]string{"topology.workers": "2"})
	_, err := w.registry.Annotate(t.Context(), Annotation{ID: "s1", Topology: "t", TimeMs: t0, Title: "Step 1",
		Tags: []string{"step"}})
	require.NoError(t, err)
	w.seconds(200) // enough for several segments and checkpoints
	require.Eventually(t, func() bool { return w.journal.Oldest() > 0 }, backoff, time.Millisecond,
		"the journal must have released its beginning, or this shows nothing")
	w.close()
	before, ok := w.registry.Topology("t", "")
	require.True(t, ok)
	require.Len(t, w.files(), keptCheckpoints)

	w.open()
	after, ok := w.registry.Topology("t", "")
	require.True(t, ok)
	assert.Equal(t, before.Settings, after.Settings)
	assert.Equal(t, before.Workers[0].FirstSeen, after.Workers[0].FirstSeen)
	assert.Equal(t, TimeText(w.clock), after.LastSeen)
	assert.Equal(t, []string{"Topology t submitted", "Step 1"}, w.annotated(2))
	w.info(map[string]string{"topology.workers": "3"})
	assert.Equal(t, []string{"Topology t submitted", "Step 1", "Changed topology.workers"}, w.annotated(3),
		"what changed since is still seen")
	w.close()
}

func TestACrashAnywhereEndsAsIfThereHadBeenNone(t *testing.T) {
	w := newWorld(t, func(w *world) { w.keep = true })
	for i := range 12 {
		w.info(map[string]string{"round": fmt.Sprint(i / 3)})
		w.seconds(1 + i)
		w.crash()
		w.open()
	}
	want := []string{"Topology t submitted", "Changed round", "Changed round", "Changed round"}
	assert.Equal(t, want, w.annotated(len(want)))
	w.close()
	state := w.registry.state.snapshot()

	// Reading the whole journal at once gives the same state, byte for byte.
	require.NoError(t, os.RemoveAll(w.options.Dir))
	require.NoError(t, w.tryOpen())
	require.NoError(t, w.journal.Close())
	require.NoError(t, w.registry.Run(t.Context()))
	assert.Equal(t, state, w.registry.state.snapshot())
}

func TestADamagedCheckpointCostsNothingButReplay(t *testing.T) {
	w := newWorld(t)
	w.info(map[string]string{"a": "1"})
	w.seconds(50)
	w.close()
	before, _ := w.registry.Topology("t", "")
	files := w.files()
	require.Len(t, files, 2)
	damage(t, files[1])
	w.open()
	require.Eventually(t, func() bool {
		after, ok := w.registry.Topology("t", "")
		return ok && after.LastSeen == TimeText(w.clock) && assert.ObjectsAreEqual(before.Workers, after.Workers)
	}, backoff, time.Millisecond)
	w.close()

	for _, file := range w.files() {
		damage(t, file)
	}
	w.open()
	require.Eventually(t, func() bool { return len(w.registry.Topologies()) == 1 }, backoff, time.Millisecond,
		"from what the journal still holds")
	w.close()
}

// damage flips a bit in the middle of a file.
func damage(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

func TestTheCheckpointOfANewerVersionIsRefusedAndLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.seconds(10)
	w.close()
	position := w.journal.Durable()
	newer := metric.Writing(stateMagic, stateVersion+1)
	files, err := checkpoint.Open(w.options.Dir, nil)
	require.NoError(t, err)
	require.NoError(t, files.Save(position, newer.Finish()))
	before := w.files()
	err = w.tryOpen()
	require.ErrorIs(t, err, disk.ErrNewer)
	assert.ErrorContains(t, err, before[len(before)-1])
	assert.ErrorContains(t, err, "format version is 4, but this program supports up to 3: run the newer release")
	assert.Equal(t, before, w.files())
}

func TestAnAnnotationIsDurableAndReadableWhenItIsAnswered(t *testing.T) {
	w := newWorld(t)
	set, err := w.registry.Annotate(t.Context(), Annotation{Topology: "t", Title: "Now", Tags: []string{"step"}})
	require.NoError(t, err)
	assert.Len(t, set.ID, 24)
	assert.Equal(t, w.clock, set.TimeMs)
	assert.Equal(t, []Annotation{set},
		w.registry.Annotations(Filter{Topology: "t", ToMs: w.clock, Tags: []string{"step"}}))
	again, err := w.registry.Annotate(t.Context(), set)
	require.NoError(t, err)
	assert.Equal(t, set, again)
	closed, err := w.registry.Annotate(t.Context(), Annotation{ID: set.ID, Topology: "t", EndMs: set.TimeMs + 5})
	require.NoError(t, err)
	set.EndMs = set.TimeMs + 5
	assert.Equal(t, set, closed)
	w.crash() // no checkpoint: the annotation is only in the journal
	w.open()
	w.seconds(1)
	require.Eventually(t, func() bool { _, ok := w.registry.annotation("t", set.ID); return ok }, backoff,
		time.Millisecond)
	w.close()
	_, err = w.registry.Annotate(t.Context(), set)
	assert.ErrorIs(t, err, journal.ErrClosed)
}

func TestWhatIsWrongWithAnAnnotationIsSaid(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	long := string(make([]byte, MaxTextBytes+1))
	for want, a := range map[string]Annotation{
		"topology is missing: name the topology that the annotation belongs to": {Title: "x"},
		"title is missing; it is required for a new annotation":                 {Topology: "t", ID: "unknown"},
		"end_time is before time": {Topology: "t", Title: "x",
			TimeMs: 2, EndMs: 1},
		"text is too long: 16385 bytes, at most 16384": {Topology: "t", Title: "x",
			Text: long},
		"title is not UTF-8": {Topology: "t", Title: "\xff"},
		"there are too many tags; the maximum is 16": {Topology: "t", Title: "x",
			Tags: make([]string, MaxTags+1)},
		"tags is too long: 65 bytes, at most 64": {Topology: "t", Title: "x",
			Tags: []string{"a", long[:65]}},
		`id begins with "auto-", which is reserved for the collector: choose another id`: {Topology: "t", Title: "x",
			ID: "auto-1"},
		`id begins with "shared-": another collector owns that annotation; change it there, with the id that it has there`: {
			Topology: "t", Title: "x", ID: "shared-1"},
		"it is older than the retention of annotations, or older than all annotations that are stored": {Topology: "t", Title: "x",
			TimeMs: 1, ID: "old"},
		"id is too long: 16385 bytes, at most 128": {Topology: "t",
			Title: "x", ID: long},
	} {
		if want[:2] == "it" {
			w.seconds(1) // this sets the clock by which annotations become old
			require.Eventually(t, func() bool {
				w.registry.mu.Lock()
				defer w.registry.mu.Unlock()
				return w.registry.state.ageClockMs > 0
			}, backoff, time.Millisecond)
		}
		_, err := w.registry.Annotate(t.Context(), a)
		var invalid *InvalidError
		require.True(t, errors.As(err, &invalid), "%v", err)
		assert.Equal(t, want, invalid.Reason)
	}
}

func TestAClientThatGoesAwayIsNotWaitedFor(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // either the disk or the client's cancellation comes first
		if _, err := w.registry.Annotate(gone, Annotation{Topology: "t", ID: "x", Title: "x"}); err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	w.registry.mu.Lock()
	defer w.registry.mu.Unlock()
	assert.Empty(t, w.registry.writer.waiting)
}

func TestFiguresAreServed(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	registerer := prometheus.NewPedanticRegistry()
	newFigures(w.registry, registerer)
	w.seconds(1)
	w.annotated(1)
	require.Eventually(t, func() bool { // until it has read the batch
		n, err := testutil.GatherAndCount(registerer)
		require.NoError(t, err)
		return n == 10
	}, backoff, time.Millisecond, "9 of the registry itself, where the one producer's task is, and its worker's clock")

	// A topology that was killed is listed as long as an alert about it may fire. Its tasks are listed for an hour.
	_, err := w.registry.Annotate(t.Context(), Annotation{Topology: "t", Title: "Killed", Tags: []string{KilledTag}})
	require.NoError(t, err)
	w.clock += time.Minute.Milliseconds()
	text := func() string {
		families, err := registerer.Gather()
		require.NoError(t, err)
		return fmt.Sprint(families)
	}
	assert.Contains(t, text(), `bullet_metrics_topology_ended_timestamp_seconds`)
	assert.Contains(t, text(), `"killed"`)
	w.clock += 2 * time.Hour.Milliseconds()
	assert.NotContains(t, text(), `"bullet_metrics_worker_tasks"`)
	w.clock += 24 * time.Hour.Milliseconds()
	assert.NotContains(t, text(), `bullet_metrics_topology_ended_timestamp_seconds`)
}

// An empty list is [] in JSON and not null.
func TestATopologyOfWhichLittleIsReportedHasEmptyLists(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	w.info(nil)
	w.annotated(1)
	known, found := w.registry.Topology("t", "")
	require.True(t, found)
	written, err := json.Marshal(known)
	require.NoError(t, err)
	assert.NotContains(t, string(written), "null")
}

func TestOptionsAreChecked(t *testing.T) {
	o := DefaultOptions(t.TempDir())
	require.NoError(t, o.Validate())
	o.Limits.Tasks = 0
	assert.ErrorContains(t, o.Validate(), "all limits must be positive")
	assert.Error(t, DefaultOptions("").Validate())
}

func TestGoldenState(t *testing.T) {
	text, err := os.ReadFile("testdata/moved.txt")
	require.NoError(t, err)
	p := newScript(t, DefaultOptions("x").Limits)
	p.run(string(text))
	p.play("info P storm=2.8.3 java=17 plugin=1 set:a=b comp:FilterBolt=bolt/3/3-5/100/256/160 in:FilterBolt=DataSource/default/shuffle")
	p.play("annotate P s1 10 20 step,demo Step 1")
	p.play("worker P a:6700 102 500")
	p.play("beat P d:6700 FilterBolt/3") // a placement change that has not ended
	p.play("tick 10")
	p.play("define C t - canary:0 -1")
	p.play("close C")
	const path = "testdata/registry-v3.state"
	if *update {
		require.NoError(t, os.WriteFile(path, p.s.snapshot(), 0o644))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, golden, p.s.snapshot(), "the format has changed: it takes a new version, and a golden file of it")
	restored, err := restoreState(golden, p.s.limits, p.s.times)
	require.NoError(t, err)
	assert.Equal(t, golden, restored.snapshot())

	// Version 1, of release 0.1.0, has no clients. It does not record which components had tasks in a worker before,
	// nor that a consumer was closed. Both are then unknown.
	golden, err = os.ReadFile("testdata/registry-v1.state")
	require.NoError(t, err)
	restored, err = restoreState(golden, p.s.limits, p.s.times)
	require.NoError(t, err)
	clear(p.s.clients)
	for _, topology := range p.s.topologies {
		for _, r := range topology.runs {
			for _, w := range r.workers {
				w.moved = nil
			}
		}
	}
	assert.Equal(t, p.s.snapshot(), restored.snapshot())

	_, err = restoreState(sealed([]byte{2}), p.s.limits, p.s.times)
	assert.EqualError(t, err, "its format is version 2, but this program supports only 1 and 3")
}

func FuzzRestore(f *testing.F) {
	golden, err := os.ReadFile("testdata/registry-v3.state")
	require.NoError(f, err)
	f.Add(golden[len(stateMagic) : len(golden)-4])
	f.Add([]byte{stateVersion})
	o := DefaultOptions("x")
	f.Fuzz(func(t *testing.T, body []byte) {
		data := sealed(body)
		restored, err := restoreState(data, o.Limits, o.Times)
		if err != nil {
			return
		}
		again, err := restoreState(restored.snapshot(), o.Limits, o.Times)
		require.NoError(t, err)
		require.Equal(t, restored.snapshot(), again.snapshot())
		r := &Registry{options: o, state: restored}
		for _, s := range r.Topologies() { // the restored state can be shown and changed
			r.Topology(s.Name, s.ID)
		}
		for _, of := range restored.topologies {
			of.placement()
			restored.ending(of, t0, o.Times)
		}
		restored.apply(&journal.Tick{TimeMs: t0})
		restored.snapshot()
	})
}

// sealed adds the magic and a checksum to a body, so that fuzzing reaches the decoder.
func sealed(body []byte) []byte {
	data := append([]byte(stateMagic), body...)
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}
