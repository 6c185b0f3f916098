package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// world is a fake cluster whose topologies hold a given number of queries and records, in the time of a synctest
// bubble.
type world struct {
	// capacity is how many queries a trial's topology holds within the limit; carries is how many records/s.
	capacity map[string]float64
	carries  map[string]float64
	// starved reports whether the host has no idle CPU now. broken is why a trial's topology cannot be launched.
	starved func() bool
	// starvesAbove is the rate of background records that uses all of the host's CPU, if set.
	starvesAbove float64
	broken       map[string]error
	// cpu returns the CPU in s that a topology has used at a time after its launch; nil means a steady use.
	cpu func(since time.Duration) float64
	// worker returns the CPU that a topology's worker has used at a time after its launch; nil means none.
	worker func(since time.Duration) time.Duration
	// away reports whether the collector does not answer now, stale whether no more slices close; nil means never.
	// With mute no worker reports; with lossy the last record of each query is lost.
	away, stale func() bool
	mute, lossy bool
	// uncounted is the share of the source's records that the gateway reports but the source itself did not count.
	uncounted float64
	// broker puts each topology behind a broker; nil means no broker.
	broker func(*fakeTopology) *brokered
	// ask, if set, is called for each query first; its error is the result of the query.
	ask func(ctx context.Context) error

	mu          sync.Mutex
	launches    []string
	ended       []string
	killed      []string // the killed topologies that the collector was informed about
	again       int      // how often the cluster was restarted
	stopped     bool
	topology    map[string]*fakeTopology
	annotations map[string]measure.Annotation
	failed      chan error
}

func newWorld() *world {
	return &world{capacity: map[string]float64{}, carries: map[string]float64{}, broken: map[string]error{},
		topology:    map[string]*fakeTopology{},
		annotations: map[string]measure.Annotation{}, failed: make(chan error, 1),
		starved: func() bool { return false }}
}

func (w *world) Launch(_ context.Context, t runstore.PlannedTrial, name string) (*runner.Launched, error) {
	w.launches = append(w.launches, name)
	if err := w.broken[t.Label]; err != nil {
		return nil, err
	}
	f := &fakeTopology{world: w, name: name, capacity: w.capacity[t.Label], carries: w.carries[t.Label],
		began: time.Now(), changed: time.Now(), looked: time.Now()}
	w.mu.Lock()
	w.topology[name] = f
	w.mu.Unlock()
	ports := measure.Ports{}
	ports.Source, ports.Queries, ports.Slices, ports.Machine, ports.Annotations = f, f, f, f, f
	ports.Processes = func() map[string]int { return map[string]int{"worker 1": 1} }
	var around measure.Environment
	if w.broker != nil {
		around = w.broker(f).join(&ports)
	}
	return &runner.Launched{Submitted: time.Now(), Ports: ports, Environment: around, Failed: w.failed,
		Settings: []byte("a: 1\n"), Arguments: runstore.Arguments{Settings: []string{"a=1"}}}, nil
}

func (w *world) End(_ context.Context, _ string, broken bool) error {
	name := w.launches[len(w.launches)-1]
	w.ended = append(w.ended, name)
	w.mu.Lock()
	if _, known := w.annotations[name+"/"+measure.KilledTag]; known {
		w.killed = append(w.killed, name)
	}
	w.mu.Unlock()
	if broken {
		w.again++
	}
	return nil
}

func (w *world) Stop(<-chan struct{}) error { w.stopped = true; return nil }

type fakeTopology struct {
	world             *world
	name              string
	capacity, carries float64
	began             time.Time

	mu      sync.Mutex
	control load.Control
	changed time.Time
	emitted float64
	made    []madeBy
	// lag is how many records are scheduled and not made yet, for a source that has reached its limit.
	lag    float64
	active int
	// slow counts, by slice, the times at which the load exceeded the capacity.
	slow map[int64]bool
	// idle is the idle CPU time of the machine up to looked.
	idle   time.Duration
	looked time.Time
}

const width = 5 * time.Second

// advance computes the source's state up to now.
func (f *fakeTopology) advance() {
	rate := f.control.RecordsPerSecond
	for _, p := range f.control.Probes {
		rate += p.PerSecond
	}
	due := f.lag + rate*time.Since(f.changed).Seconds()
	took := due
	if f.carries > 0 {
		took = min(due, f.carries*time.Since(f.changed).Seconds())
	}
	f.emitted, f.lag = f.emitted+took, due-took
	f.changed = time.Now()
	f.made = append(f.made, madeBy{f.changed, f.emitted})
}

// madeBy is how many records a source had made by a moment.
type madeBy struct {
	at      time.Time
	records float64
}

// emittedBy returns how many records the source had made by a moment, which must not be after the last known one.
func (f *fakeTopology) emittedBy(t time.Time) float64 {
	before := madeBy{f.began, 0}
	for _, m := range f.made {
		if m.at.After(t) {
			share := t.Sub(before.at).Seconds() / m.at.Sub(before.at).Seconds()
			return before.records + share*(m.records-before.records)
		}
		before = m
	}
	return before.records
}

func (f *fakeTopology) SetControl(_ context.Context, c load.Control) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	f.control = c
	return nil
}

func (f *fakeTopology) Status(context.Context) (load.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	return load.Status{Reporting: 1, Following: 1, Emitted: int64(f.emitted) + 1, Lag: int64(f.lag)}, nil
}

var probeIn = regexp.MustCompile(`probe = '([^']*)'`)

func (f *fakeTopology) Query(ctx context.Context, bql string) (load.Answer, error) {
	if f.world.ask != nil {
		if err := f.world.ask(ctx); err != nil {
			return load.Answer{}, err
		}
	}
	f.count(1)
	defer f.count(-1)
	if strings.HasSuffix(bql, "LIMIT 1") {
		return f.find(ctx)
	}
	probe, from := probeIn.FindStringSubmatch(bql)[1], time.Now().Unix()
	select {
	case <-time.After(10*time.Second + 300*time.Millisecond):
	case <-ctx.Done():
		return load.Answer{}, ctx.Err()
	}
	var answer load.Answer
	for i := range int64(10) {
		answer.Records = append(answer.Records,
			json.RawMessage(fmt.Sprintf(`{"probe":%q,"probe_sequence":%d}`, probe, from+1+i)))
	}
	if f.world.lossy {
		answer.Records = answer.Records[:9]
	}
	return answer, nil
}

// find returns one record with the times of its stages. The record is made 200 ms after the query's submission.
func (f *fakeTopology) find(ctx context.Context) (load.Answer, error) {
	submitted := time.Now().UnixMilli()
	select {
	case <-time.After(260 * time.Millisecond):
	case <-ctx.Done():
		return load.Answer{}, ctx.Err()
	}
	record := fmt.Sprintf(`{"event_time_ms":%d,"kafka_received_ms":%d,"bullet_received_ms":%d,"bullet_filtered_ms":%d}`,
		submitted+200, submitted+220, submitted+240, submitted+242)
	return load.Answer{Records: []json.RawMessage{json.RawMessage(record)},
		Meta: json.RawMessage(fmt.Sprintf(`{"Query":{"Receive Time":%d,"Finish Time":%d}}`, submitted+30,
			submitted+250))}, nil
}

func (f *fakeTopology) count(by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active += by
	if f.slow == nil {
		f.slow = map[int64]bool{}
	}
	if float64(f.active) > f.capacity && f.capacity > 0 {
		f.slow[time.Now().Truncate(width).Add(width).UnixMilli()] = true
	}
}

func (f *fakeTopology) Host() (measure.HostTime, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if above := f.world.starvesAbove; !f.world.starved() && (above == 0 || f.control.RecordsPerSecond <= above) {
		f.idle += time.Since(f.looked)
	}
	f.looked = time.Now()
	return measure.HostTime{Idle: f.idle, Total: 2 * time.Since(f.began)}, nil
}

func (f *fakeTopology) Process(int) (time.Duration, bool) {
	if f.world.worker == nil {
		return 0, true
	}
	return f.world.worker(time.Since(f.began)), true
}

func (*fakeTopology) Collection(context.Context, string, time.Time, time.Time) (*collection.Collection, error) {
	return nil, errors.New("it is not reported")
}

// AnnotationsWithin lists the steps, and a change of a setting 20 s after the topology's launch.
func (f *fakeTopology) AnnotationsWithin(_ context.Context, topology string, from, to time.Time) (
	annotations []measure.Annotation, err error) {
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	of := f.world.topology[topology]
	if of == nil {
		return nil, errors.New("no topology " + topology)
	}
	all := []measure.Annotation{{Topology: topology, Annotation: runstore.Annotation{ID: "auto-" + topology,
		StartMs: of.began.Add(20 * time.Second).UnixMilli(),
		Title:   "Changed a setting of " + topology, Text: "- a: 1\n+ a: 2", Tags: []string{"config"}}}}
	for _, m := range f.world.annotations {
		if m.Topology == topology {
			all = append(all, m)
		}
	}
	for _, m := range all {
		if m.StartMs >= from.UnixMilli() && m.StartMs <= to.UnixMilli() {
			annotations = append(annotations, m)
		}
	}
	return annotations, nil
}

func (f *fakeTopology) Annotate(_ context.Context, m measure.Annotation) error {
	f.world.mu.Lock()
	defer f.world.mu.Unlock()
	f.world.annotations[m.Topology+"/"+m.ID] = m
	return nil
}

var topologyIn = regexp.MustCompile(`topology="([^"]*)"`)

// Slices returns series for every topology that the world has had. Filters are slow if too many queries were active.
func (f *fakeTopology) Slices(_ context.Context, selector string, from, to time.Time) ([]measure.Series, error) {
	found := topologyIn.FindStringSubmatch(selector)
	switch {
	case found == nil:
		return nil, errors.New("no topology in " + selector)
	case f.world.is(f.world.away):
		return nil, errors.New("connection refused")
	case f.world.mute && strings.HasPrefix(selector, "bullet_worker_cpu"):
		return nil, nil
	}
	f.world.mu.Lock()
	of := f.world.topology[found[1]]
	f.world.mu.Unlock()
	if of == nil {
		return nil, nil
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	of.advance()
	s := measure.Series{Labels: map[string]string{"worker": "w:1", "pid": "11", "task": "1"}}
	if strings.HasPrefix(selector, "storm_connection_sent_messages_total") {
		s.Labels["worker"], s.Labels["peer"] = "worker of "+of.name, "another"
	}
	for t := from.Truncate(width).Add(width); !t.After(to) && !t.After(time.Now().Add(-width)); t = t.Add(width) {
		s.Slices.TimesMs = append(s.Slices.TimesMs, t.UnixMilli())
		s.Slices.Values = append(s.Slices.Values, of.value(selector, t))
	}
	return []measure.Series{s}, nil
}

func (f *fakeTopology) value(selector string, t time.Time) tuning.Figure {
	switch {
	case f.world.cpu != nil && strings.HasPrefix(selector, "bullet_worker_cpu"):
		return tuning.Figure(f.world.cpu(t.Sub(f.began)))
	case strings.HasPrefix(selector, "bullet_source_records_total"):
		return tuning.Figure(f.emittedBy(t) * (1 - f.world.uncounted))
	case !strings.HasPrefix(selector, "bullet_filter_latency"):
		return tuning.Figure(t.Sub(f.began).Seconds() / 4)
	case f.slow[t.UnixMilli()] || f.capacity > 0 && float64(f.active) > f.capacity:
		return 0.9
	}
	return 0.004
}

// is reports whether a condition holds now; nil means no.
func (*world) is(something func() bool) bool { return something != nil && something() }

func (f *fakeTopology) Newest(context.Context, string, time.Time) ([]measure.Newest, error) {
	if f.world.is(f.world.away) {
		return nil, errors.New("connection refused")
	}
	if f.world.is(f.world.stale) {
		return []measure.Newest{{Labels: map[string]string{"worker": "w:1"}, EndMs: 1}}, nil
	}
	return []measure.Newest{{Labels: map[string]string{"worker": "w:1"},
		EndMs: time.Now().Add(-width).Truncate(width).UnixMilli()}}, nil
}

// journal is a Progress that keeps what is printed.
type journal struct {
	mu    sync.Mutex
	lines []string
	said  func(line string)
}

func (j *journal) Say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	j.mu.Lock()
	j.lines = append(j.lines, line)
	j.mu.Unlock()
	if j.said != nil {
		j.said(line)
	}
}

func (*journal) Show(string, ...any) {}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n")
}

func stepFiles(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, runstore.TrialsDir, "*", runstore.StepsDir, "*.json"))
	return files
}
