package registry

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
)

// placementChange collects changes of placement until no more arrive for a while, or until LongestPlacementChange has
// passed. A rebalance moves many tasks within seconds, and the user must see one annotation for it instead of one per
// task.
type placementChange struct {
	atMs            int64          // event time of the first change
	beganMs, lastMs int64          // by the collector's clock
	was             map[place]bool // at most twice Limits.Workers entries: all workers may leave and as many may join
	before          map[int32]place
}

// from records where a task ran before the placement change. Only the task's first move counts, because the annotation
// compares the beginning with the end.
func (c *placementChange) from(task int32, where place) {
	if _, moved := c.before[task]; !moved {
		c.before[task] = where
	}
}

// presence records whether a worker was present before the placement change. Workers beyond the limit are left out:
// each of them replaced another worker, which is counted as dropped.
func (c *placementChange) presence(of place, was bool, limit int) {
	if _, changed := c.was[of]; !changed && len(c.was) < 2*limit {
		c.was[of] = was
	}
}

// String returns "host:port".
func (p place) String() string {
	return net.JoinHostPort(p.host, strconv.FormatUint(uint64(p.port), 10))
}

func comparePlaces(a, b place) int {
	return cmp.Or(strings.Compare(a.host, b.host), cmp.Compare(a.port, b.port))
}

// changing returns the current placement change, and begins one if there is none.
func (r *run) changing(at int64, s *state) *placementChange {
	if r.placementChange == nil {
		r.placementChange = &placementChange{atMs: at, beganMs: s.clockMs, was: map[place]bool{},
			before: map[int32]place{}}
	}
	r.placementChange.lastMs = s.clockMs
	return r.placementChange
}

// join records that a worker reports, for the first time or again. A worker that joins soon after the submission is
// part of the submission and gets no annotation.
func (r *run) join(w *worker, at int64, s *state) {
	w.firstMs = cmp.Or(w.firstMs, at)
	w.present, w.lastMs, w.heardMs = true, max(w.lastMs, at), s.clockMs
	if r.placementChange != nil || s.clockMs-r.firstMs > s.times.Startup.Milliseconds() {
		r.changing(at, s).presence(w.place, false, s.limits.Workers)
	}
}

// leave records that a worker is gone since at, the event time of its last report. If the run has too many workers, it
// may now be forgotten to make room.
func (r *run) leave(w *worker, at int64, s *state) {
	w.present, w.leftMs = false, at
	r.leavers.add(w)
	r.crowded = false
	r.changing(at, s).presence(w.place, true, s.limits.Workers)
}

// silenceMs returns how long a worker may be silent, in ms, while the topology is heard. It includes three of the
// worker's reporting intervals, because a worker that reports once a minute is not gone after half a minute.
func (w *worker) silenceMs(t Times) int64 {
	return max(t.Silence.Milliseconds()+3*w.reportMs, 3*t.Silence.Milliseconds())
}

// leaveSilent marks workers as gone that are silent for too long while the topology is heard. If the whole topology is
// silent, for example because its consumer restarts, nobody knows which workers are gone, and none is marked.
func (r *run) leaveSilent(s *state) {
	var silent []*worker
	for _, w := range r.workers {
		if w.present && r.heardMs-max(w.heardMs, r.hearingSinceMs) > w.silenceMs(s.times) {
			silent = append(silent, w)
		}
	}
	slices.SortFunc(silent, func(a, b *worker) int { return comparePlaces(a.place, b.place) })
	for _, w := range silent {
		r.leave(w, w.lastMs, s)
	}
}

func (r *run) places() []place { return slices.SortedFunc(maps.Keys(r.workers), comparePlaces) }

// settle writes the annotation of a placement change when nothing changed for Times.Settle plus the longest reporting
// interval, or after LongestPlacementChange. A task that moved away and back gets no annotation.
func (r *run) settle(s *state) {
	if r.placementChange == nil {
		return
	}
	var interval int64
	for _, w := range r.workers {
		if w.present {
			interval = max(interval, w.reportMs)
		}
	}
	rests := s.clockMs-r.placementChange.lastMs >= s.times.Settle.Milliseconds()+interval
	if !rests && s.clockMs-r.placementChange.beganMs < s.times.LongestPlacementChange.Milliseconds() {
		return
	}
	if c := r.changed(); len(c.lines) > 0 {
		s.annotate(r.topology, r.placementChange.atMs, c)
	}
	r.placementChange = nil
}

// changed compares the current placement with the one before the change, and returns the difference.
func (r *run) changed() change {
	var joined, left []place
	for _, p := range slices.SortedFunc(maps.Keys(r.placementChange.was), comparePlaces) {
		w := r.workers[p]
		switch is := w != nil && w.present; {
		case is && !r.placementChange.was[p]:
			joined = append(joined, p)
		case !is && r.placementChange.was[p]:
			left = append(left, p)
		}
	}
	c := change{tags: []string{"assignment"}}
	for _, p := range left {
		c.lines = append(c.lines, "- worker "+r.workerLine(p))
	}
	for _, p := range joined {
		c.lines = append(c.lines, "+ worker "+r.workerLine(p))
	}
	moved := r.movedTasks(&c)
	c.title, c.tags = titled(joined, left, moved, c.tags)
	return c
}

// movedTasks adds a pair of lines for each task that runs in another worker now, and returns the number of these tasks.
func (r *run) movedTasks(c *change) int {
	moved := 0
	names := r.componentsOfTasks()
	for _, id := range slices.Sorted(maps.Keys(r.placementChange.before)) {
		t, before := r.tasks[id], r.placementChange.before[id]
		if t == nil || t.worker.place == before {
			continue
		}
		moved++
		name := fmt.Sprintf("%s task %d on ", cmp.Or(t.component, names[id], "unknown component,"), id)
		c.lines = append(c.lines, "- "+name+before.String(), "+ "+name+t.worker.place.String())
	}
	return moved
}

func (r *run) workerLine(p place) string {
	if w := r.workers[p]; w != nil && w.pid != 0 {
		return fmt.Sprintf("%s, pid %d", p, w.pid)
	}
	return p.String()
}

// titled returns a short title for the time axis, and the tags for what happened. The most frequent case, one worker
// that another one replaces, gets its own wording.
func titled(joined, left []place, moved int, tags []string) (string, []string) {
	if len(joined) == 1 && len(left) == 1 && moved > 0 {
		return fmt.Sprintf("Worker %s moved to %s", left[0], joined[0]), append(tags, "moved")
	}
	var parts []string
	if len(joined) > 0 {
		parts, tags = append(parts, workersWord(joined)+" joined"), append(tags, "joined")
	}
	if len(left) > 0 {
		parts, tags = append(parts, workersWord(left)+" left"), append(tags, "left")
	}
	if moved > 0 {
		parts, tags = append(parts, plural(moved, "task")+" moved"), append(tags, "moved")
	}
	title := strings.Join(parts, ", ")
	return strings.ToUpper(title[:min(1, len(title))]) + title[min(1, len(title)):], tags
}

func workersWord(places []place) string {
	if len(places) == 1 {
		return "worker " + places[0].String()
	}
	return plural(len(places), "worker")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// componentsOfTasks returns the component of each task according to the topology's description, or nothing if there is
// no description yet. A task's samples name its component too, and take precedence.
func (r *run) componentsOfTasks() map[int32]string {
	names := map[int32]string{}
	if r.info != nil {
		for _, c := range r.info.components {
			for _, id := range c.Tasks {
				names[id] = c.Name
			}
		}
	}
	return names
}
