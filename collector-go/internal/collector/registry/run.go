package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// run is one submission of a topology, identified by Storm's topology id. Submitting a topology again under its name
// begins a new run, so that settings, placement and restarts of different submissions never mix. Limits.Runs runs are
// kept, because users ask what changed since the run before.
type run struct {
	topology, id string
	submittedMs  int64 // from the id; 0 if the id has no time
	firstMs      int64 // when it was first and last heard, by the collector's clock
	heardMs      int64
	// hearingSinceMs is the time since which the run is heard without a break. Silence of a worker before that time
	// does not count.
	hearingSinceMs int64
	// stoppedMs is when a producer announced that it is being closed, by the collector's clock. It is 0 if the run was
	// heard since.
	stoppedMs int64

	info            *info // nil until it is reported
	source          journal.ProducerID
	senders         map[journal.ProducerID]*sender
	workers         map[place]*worker
	tasks           map[int32]*task
	placementChange *placementChange // nil while the assignment does not change
	leavers         leavers
	crowded         bool // no worker may be forgotten, and none has left since that was found

	forgotten bool // deleted from the state; caches look the run up again
}

// sender is a producer as one run knows it: a task of the metrics consumer. Each sender's description is remembered by
// its digest. Two senders that see different versions of Java would otherwise look like a change with every report.
type sender struct {
	place
	task      int32
	connected bool
	heardMs   int64
	digest    uint64 // of the description that it last reported; 0 before the first
	forgotten bool   // deleted from the run; caches look the sender up again
}

// worker is a host and port at which the topology runs or ran. The process may change, because a supervisor restarts a
// worker at the same port; pid and startMs identify the process. Times are event times unless stated otherwise, in ms
// since the Unix epoch.
type worker struct {
	place
	pid       uint64 // 0 if it is unknown
	startMs   int64  // when that process started
	sinceMs   int64  // when the collector received the first report of the process
	firstMs   int64
	lastMs    int64
	heardMs   int64 // when it was last heard, by the collector's clock
	reportMs  int64 // its shortest reporting interval
	restarts  uint64
	tasks     int
	present   bool
	leftMs    int64
	vacatedBy uint64   // the pid when its last task moved away; otherwise 0
	moved     []string // sorted components with tasks that moved from here to another worker
	forgotten bool     // deleted from the run; caches look the worker up again
}

// task records which worker runs a task, and since when. The newest report decides. A late report from the task's
// previous worker changes nothing.
type task struct {
	component string // "" until a sample of the task arrives
	worker    *worker
	sinceMs   int64 // event time
	lastMs    int64
}

// newRun returns a run that was first heard at nowMs, by the collector's clock.
func newRun(topology, id string, nowMs int64) *run {
	return &run{topology: topology, id: id, submittedMs: submittedMs(id), firstMs: nowMs, heardMs: nowMs,
		hearingSinceMs: nowMs,
		senders:        map[journal.ProducerID]*sender{}, workers: map[place]*worker{}, tasks: map[int32]*task{}}
}

// submittedMs returns the time of submission in ms, from Storm's id "name-n-seconds". It returns 0 if the id does not
// end in a plausible time.
func submittedMs(id string) int64 {
	seconds, err := strconv.ParseInt(id[strings.LastIndexByte(id, '-')+1:], 10, 64)
	if err != nil || seconds < 1_000_000_000 || seconds > 99_999_999_999 {
		return 0
	}
	return seconds * 1000
}

// beganMs returns when the run was submitted, or when it was first heard if its id has no time.
func (r *run) beganMs() int64 { return cmp.Or(r.submittedMs, r.firstMs) }

// anyConnected reports whether some sender of the run has an open stream.
func (r *run) anyConnected() bool {
	for _, s := range r.senders {
		if s.connected {
			return true
		}
	}
	return false
}

// disputed reports whether another sender, which is still connected, provided the run's description. Senders on
// different machines may report different descriptions, so the first one counts while its sender is connected.
func (r *run) disputed(by journal.ProducerID) bool {
	source := r.senders[r.source]
	return r.source != by && source != nil && source.connected
}

// sender returns the run's record of a producer, or nil if there are too many. The result is cached in the producer,
// because every batch asks for it.
func (r *run) sender(p *producer, s *state) *sender {
	if p.sender == nil || p.senderOf != r || p.sender.forgotten {
		p.sender, p.senderOf = r.findSender(p, s), r
	}
	return p.sender
}

// findSender looks a producer up, and adds it if it is new. At the limit it forgets a sender that is not connected, or
// returns nil if all are.
func (r *run) findSender(p *producer, s *state) *sender {
	if known := r.senders[p.ID]; known != nil {
		return known
	}
	if len(r.senders) == s.limits.Producers {
		s.drop("producers", 1)
		if !r.forgetSender() {
			return nil
		}
	}
	known := &sender{place: place{p.Host, p.Port}, task: p.Task}
	r.senders[p.ID] = known
	return known
}

// forgetSender forgets, of the senders that are not connected, the one that was heard longest ago. It returns false if
// all are connected.
func (r *run) forgetSender() bool {
	var oldest journal.ProducerID
	found := false
	for _, id := range slices.Sorted(maps.Keys(r.senders)) {
		if s := r.senders[id]; !s.connected && (!found || s.heardMs < r.senders[oldest].heardMs) {
			oldest, found = id, true
		}
	}
	if found {
		r.senders[oldest].forgotten = true
		delete(r.senders, oldest)
	}
	return found
}

// hear records that a batch arrived. The producer is itself a task of the topology but reports no samples of its own.
// Its batches therefore show where it runs and that it is alive.
func (r *run) hear(b *journal.Batch, p *producer, s *state) {
	if b.ReceivedMs-r.heardMs > s.times.Silence.Milliseconds() {
		r.hearingSinceMs = b.ReceivedMs
	}
	r.heardMs, r.stoppedMs = b.ReceivedMs, 0
	if b.Notes.GetClosing() {
		r.stoppedMs = b.ReceivedMs
	}
	if sender := r.sender(p, s); sender != nil {
		sender.connected, sender.heardMs = true, b.ReceivedMs
	}
	p.self.newestMs = b.SentMs
	r.saw(&p.self, b.ReceivedMs, s)
}

// saw records the newest report of a task, or, for task -1, of a worker. A time ahead of the collector's clock is
// replaced by the time of receipt. Otherwise a worker whose clock is ahead would look alive long after it ended.
func (r *run) saw(src *source, receivedMs int64, s *state) {
	if src.run != r || src.worker == nil || src.worker.forgotten {
		src.run, src.worker = r, r.worker(src.place, s)
	}
	w, at := src.worker, min(src.newestMs, receivedMs)
	if w == nil {
		return
	}
	if src.reportMs > 0 && (w.reportMs == 0 || src.reportMs < w.reportMs) {
		w.reportMs = src.reportMs
	}
	if src.task >= 0 {
		r.place(src.task, src.component, w, at, s)
	} else if !w.present && at > w.leftMs {
		r.join(w, at, s)
	}
	if w.present && at >= w.leftMs {
		w.lastMs, w.heardMs = max(w.lastMs, at), receivedMs
	}
}

// worker returns the worker at a host and port, and adds it if it is new. It returns nil if the run has too many
// workers and none of them may be forgotten.
func (r *run) worker(at place, s *state) *worker {
	if w := r.workers[at]; w != nil {
		return w
	}
	if len(r.workers) == s.limits.Workers {
		s.drop("workers", 1)
		if r.crowded = r.crowded || !r.forgetWorker(); r.crowded {
			return nil
		}
	}
	w := &worker{place: at}
	r.workers[at] = w
	r.leavers.add(w)
	return w
}

// forgetWorker forgets the worker that left first. It returns false if none may be forgotten.
func (r *run) forgetWorker() bool {
	oldest := r.leavers.next(r.workers)
	if oldest != nil {
		oldest.forgotten = true
		delete(r.workers, oldest.place)
	}
	return oldest != nil
}

// place records that a task reported from a worker. The latest report decides where the task runs.
func (r *run) place(id int32, component string, w *worker, at int64, s *state) {
	t := r.tasks[id]
	switch {
	case t == nil && len(r.tasks) == s.limits.Tasks:
		s.drop("tasks", 1)
		return
	case t == nil:
		t = &task{worker: w, sinceMs: at, lastMs: at}
		r.tasks[id] = t
		w.tasks++
	case t.worker == w:
		t.lastMs = max(t.lastMs, at)
	case at <= t.lastMs:
		return // a late report from the previous worker
	default:
		r.move(id, t, w, at, s)
	}
	t.component = cmp.Or(component, t.component)
	if !w.present {
		r.join(w, at, s)
	}
}

// move records that a task reports from another worker. A worker whose last task moved away has left. Its pid is
// remembered, because a new process that reports there later is not a restart.
func (r *run) move(id int32, t *task, to *worker, at int64, s *state) {
	from := t.worker
	r.changing(at, s).from(id, from.place)
	component := r.componentOf(id, t)
	if i, known := slices.BinarySearch(from.moved, component); !known {
		from.moved = slices.Insert(from.moved, i, component)
	}
	if !to.present {
		r.join(to, at, s)
	}
	t.worker, t.sinceMs, t.lastMs = to, at, at
	to.tasks++
	if from.tasks--; from.tasks > 0 {
		return
	}
	r.crowded = false
	if from.present {
		from.vacatedBy = from.pid
		r.leave(from, at, s)
	}
	r.leavers.add(from)
}

// describeWorker records a producer's description of a worker: its process, and the tasks that last reported from it.
func (r *run) describeWorker(info *bulletmetricsv1.WorkerInfo, receivedMs int64, s *state) {
	w := r.worker(place{clip(info.GetHost(), s.limits.TextBytes), info.GetPort()}, s)
	if w == nil {
		return
	}
	times := info.GetTaskTimesMs()
	for i, id := range info.GetTasks() {
		switch {
		case id < 0:
		case i < len(times):
			r.place(id, "", w, min(times[i], receivedMs), s)
		case r.tasks[id] == nil: // an older plugin reports no times, so only new tasks are placed
			r.place(id, "", w, receivedMs, s)
		}
	}
	r.process(w, info.GetPid(), info.GetStartTimeMs(), receivedMs, s)
}

// process records the process of a worker. Another process at the same host and port is a restart, which is counted and
// annotated, unless all tasks had left the worker in between. A process that started before the known one was reported
// late and is ignored.
func (r *run) process(w *worker, pid uint64, startMs, receivedMs int64, s *state) {
	if pid == 0 || (pid == w.pid && startMs == w.startMs) || startMs < w.startMs {
		return
	}
	if w.pid != 0 && w.vacatedBy != w.pid {
		w.restarts++
		s.annotate(r.topology, cmp.Or(min(startMs, receivedMs), receivedMs), change{
			title: fmt.Sprintf("Worker %s restarted", w.place),
			lines: []string{"- " + processLine(w.pid, w.startMs), "+ " + processLine(pid, startMs)},
			tags:  []string{"restart"},
		})
	}
	w.pid, w.startMs, w.sinceMs, w.vacatedBy = pid, startMs, receivedMs, 0
}

func processLine(pid uint64, startMs int64) string {
	if startMs == 0 {
		return fmt.Sprintf("pid %d", pid)
	}
	return fmt.Sprintf("pid %d, started %s", pid, TimeText(startMs))
}

// TimeText formats a time in ms since the Unix epoch as the API does, in UTC.
func TimeText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

func sortedNames(m map[string]*topology) []string { return slices.Sorted(maps.Keys(m)) }
