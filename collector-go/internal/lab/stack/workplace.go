package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// ErrBusy means that another run holds the directory.
var ErrBusy = errors.New("the directory is in use by another run")

// identity identifies a process even after its end. The kernel reuses a pid, but never with the same start time.
// Without the start time, a later run could kill an unrelated process.
type identity struct {
	Name       string `json:"name"`
	Pid        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"` // since boot, field 22 of /proc/PID/stat
}

// alive reports whether exactly this process still runs; a zombie does not.
func (i identity) alive() bool {
	stat, err := measure.ProcessStat(i.Pid)
	return err == nil && stat.Starttime == i.StartTicks && stat.State != "Z"
}

// workplace is the directory of a run, with a lock that at most one run holds and a record of the processes that it
// started. The kernel releases the lock when this process dies, and the record survives, so the next run can end what
// is left.
type workplace struct {
	dir  string
	lock *os.File

	mu      sync.Mutex
	started []identity
}

// enter creates the directory if it is missing, and locks it until leave or the end of this process.
func enter(dir string) (*workplace, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s: %w: wait for it, end it, or use another directory with --out", dir, ErrBusy)
	}
	return &workplace{dir: dir, lock: lock}, nil
}

// leave unlocks the directory. It may be called twice.
func (w *workplace) leave() { _ = w.lock.Close() }

func (w *workplace) recordPath() string { return filepath.Join(w.dir, "processes.json") }

// note records a process. It must be called before anything else is done with the process.
func (w *workplace) note(name string, pid int) error {
	stat, err := measure.ProcessStat(pid)
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started = slices.DeleteFunc(w.started, func(i identity) bool { return !i.alive() })
	w.started = append(w.started, identity{Name: name, Pid: pid, StartTicks: stat.Starttime})
	return w.save()
}

// save replaces the record as a whole, because the next run could not read a partial one.
func (w *workplace) save() error {
	text, err := json.MarshalIndent(w.started, "", "  ")
	if err != nil {
		return err
	}
	return disk.WriteAside(disk.System{}, w.dir, w.recordPath(), text)
}

// leftoverGrace is how long a leftover process may take to end by itself.
const leftoverGrace = 5 * time.Second

// endLeftovers ends the processes that an earlier run recorded and left running, and returns their names.
func (w *workplace) endLeftovers() ([]string, error) {
	text, err := os.ReadFile(w.recordPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var left []identity
	if err := json.Unmarshal(text, &left); err != nil {
		return nil, fmt.Errorf("%s is not a list of processes: %w: remove it", w.recordPath(), err)
	}
	left = slices.DeleteFunc(left, func(i identity) bool { return !i.alive() })
	var names []string
	for _, process := range left {
		names = append(names, process.Name)
		_ = syscall.Kill(process.Pid, syscall.SIGTERM)
	}
	if awaitGone(left, leftoverGrace) {
		return names, nil
	}
	for _, process := range left {
		if process.alive() {
			_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
		}
	}
	if !awaitGone(left, leftoverGrace) {
		return names, fmt.Errorf("cannot end %v of an earlier run: end them manually (kill -9)", names)
	}
	return names, nil
}

// pollInterval is the interval for polling events that cannot be waited for, such as the end of a process that is not
// our child.
const pollInterval = 50 * time.Millisecond

// awaitGone reports whether all processes ended within a limit. They are polled, because they are not our children and
// cannot be waited for.
func awaitGone(processes []identity, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	gone := func() bool { return !slices.ContainsFunc(processes, identity.alive) }
	return poll.Until(ctx, pollInterval, gone) == nil
}
