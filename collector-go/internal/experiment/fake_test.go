package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
)

// fakeTopology is source, queries, machine and collector of a topology that behaves: it emits what it is asked for, answers a
// query when its time is up, uses a tenth of the host and what the records take, and its slices come in late.
type fakeTopology struct {
	mu      sync.Mutex
	start   time.Time
	control load.Control
	emitted float64
	used    time.Duration // of the host, by the records
	changed time.Time

	life     time.Duration // of a query
	mute     bool          // no worker reports
	lossy    bool          // queries lose a record
	stalled  bool          // queries never return
	slowTail bool          // the last slices never come
	away     func() bool

	marked map[string]Mark
}

const (
	fakeCores     = 2
	busyPerRecord = 0.0002 // of the host
	collectDelay  = 18 * time.Second
)

func newFake() *fakeTopology {
	now := time.Now()
	return &fakeTopology{start: now, changed: now, life: 30*time.Second + 300*time.Millisecond}
}

// advance brings the totals up to now.
func (f *fakeTopology) advance() {
	elapsed := time.Since(f.changed)
	f.emitted += f.control.RecordsPerSecond * elapsed.Seconds()
	busy := min(0.9, f.control.RecordsPerSecond*busyPerRecord)
	f.used += time.Duration(busy * float64(fakeCores*elapsed))
	f.changed = time.Now()
}

func (f *fakeTopology) SetControl(_ context.Context, control load.Control) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	f.control = control
	return nil
}

func (f *fakeTopology) Status(context.Context) (load.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	if time.Since(f.start) < 20*time.Second {
		return load.Status{}, errors.New("nobody polls")
	}
	return load.Status{Reporting: 2, Following: 2, Emitted: int64(f.emitted) + 1}, nil
}

var probeIn = regexp.MustCompile(`probe = '([^']*)'`)

func (f *fakeTopology) Query(ctx context.Context, bql string) (load.Answer, error) {
	if f.stalled {
		<-ctx.Done()
		return load.Answer{}, ctx.Err()
	}
	probe, from := probeIn.FindStringSubmatch(bql)[1], time.Now().Unix()
	select {
	case <-time.After(f.life):
	case <-ctx.Done():
		return load.Answer{}, ctx.Err()
	}
	var answer load.Answer
	for i := range int64(10) {
		if f.lossy && i == 4 {
			continue
		}
		record, err := json.Marshal(load.Record{Probe: probe, Sequence: from + 1 + i})
		if err != nil {
			return answer, err
		}
		answer.Records = append(answer.Records, record)
	}
	return answer, nil
}

func (f *fakeTopology) Host() (HostTime, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance()
	total := fakeCores * time.Since(f.start)
	return HostTime{Idle: total - total/10 - f.used, Total: total}, nil
}

func (f *fakeTopology) Process(pid int) (time.Duration, bool) {
	return time.Since(f.start) / time.Duration(pid), pid < 100
}

// Slices knows workers' totals that rise with the time; what is younger than the collection's delay is not in yet.
func (f *fakeTopology) Slices(_ context.Context, selector string, from, to time.Time) ([]Series, error) {
	if f.away != nil && f.away() {
		return nil, errors.New("connection refused")
	}
	if f.mute {
		return nil, nil
	}
	newest := f.newest()
	series := func(labels map[string]string, value func(seconds float64) float64) Series {
		s := Series{Labels: labels}
		for t := nextSlice(from.Add(time.Millisecond), 10*time.Second); !t.After(to) && t.UnixMilli() <= newest; t = t.Add(10 * time.Second) {
			s.Slices.TimesMs = append(s.Slices.TimesMs, t.UnixMilli())
			s.Slices.Values = append(s.Slices.Values, report.Figure(value(t.Sub(f.start).Seconds())))
		}
		return s
	}
	var out []Series
	for _, labels := range f.labels(selector) {
		out = append(out, series(labels, func(seconds float64) float64 {
			if strings.HasPrefix(selector, latencyMetric) {
				return 0.003
			}
			return seconds / 4
		}))
	}
	return out, nil
}

func (f *fakeTopology) newest() int64 {
	t := time.Now().Add(-collectDelay).Truncate(10 * time.Second)
	if f.slowTail {
		t = t.Add(-time.Hour)
	}
	return t.UnixMilli()
}

func (f *fakeTopology) labels(selector string) []map[string]string {
	switch metric, _, _ := strings.Cut(selector, "{"); metric {
	case cpuMetric:
		return []map[string]string{{"worker": "w:1", "mode": "user"}, {"worker": "w:1", "mode": "system"}, {"worker": "w:2", "mode": "total"}}
	case workerMetric:
		return []map[string]string{{"worker": "w:1", "pid": "11"}, {"worker": "w:2", "pid": "12"}}
	case queriesMetric, latencyMetric:
		return []map[string]string{{"worker": "w:1", "task": "1"}, {"worker": "w:2", "task": "2"}}
	default:
		return []map[string]string{{"worker": "w:1"}, {"worker": "w:2"}}
	}
}

func (f *fakeTopology) Newest(_ context.Context, selector string, _ time.Time) ([]Newest, error) {
	var out []Newest
	for _, labels := range f.labels(selector) {
		out = append(out, Newest{labels, f.newest()})
	}
	return out, nil
}

func (f *fakeTopology) SetMark(_ context.Context, m Mark) error {
	if f.away != nil && f.away() {
		return errors.New("connection refused")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.marked == nil {
		f.marked = map[string]Mark{}
	}
	f.marked[m.ID] = m
	return nil
}

type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Say(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (*journal) Show(string, ...any) {}
