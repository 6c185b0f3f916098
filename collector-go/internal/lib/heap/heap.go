// Package heap controls how far the Go heap of this process may grow. It considers the size of the live heap and the
// allocation rate, and knows nothing else about the program.
//
// Start with Tend. Most returns the maximum size of the heap.
package heap

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// By default Go lets the heap grow by 100% of the live heap. It therefore collects a small heap all the time, and
// doubles a large one. For a given amount of memory, garbage collection costs least if a heap's headroom is
// proportional to the square root of live bytes times allocation rate. See Kirisame et al., Optimal Heap Limits for
// Reducing Browser Memory Use, OOPSLA 2022.
//
// Here most live bytes are series. A busy collector allocates tens of MB per second for messages, regardless of the
// number of series; a higher rate gets no more headroom. A collector that is idle, or receives one sample per second,
// needs a quarter of the headroom: it collects less than once in ten seconds.
const (
	evenHeapBytes = 256 << 20 // a live heap of this size gets 100% headroom at full rate
	busyBytes     = 32 << 20  // bytes per second: from this allocation rate on, the heap gets the full headroom
	idleBytes     = busyBytes / 16
	settlesIn     = 10 * time.Second // time constant of the allocation rate
	leastPercent  = 25               // percent of the live heap
	mostPercent   = 400
	tendEvery     = time.Second
	usualBytes    = busyBytes / 4 // bytes per second: up to this rate, unused memory is returned
	leastSpare    = 8 << 20       // bytes: a smaller amount is not worth returning
	// share of the memory that the process may have; the rest is for threads, mapped files and the page cache
	limitPart = 0.8
)

// headroomPercent returns by how many percent of the live heap the heap may grow, for an allocation rate in bytes per
// second.
func headroomPercent(liveBytes uint64, bytesPerS float64) int {
	share := min(max(bytesPerS, idleBytes), busyBytes) / busyBytes
	percent := 100 * math.Sqrt(share*evenHeapBytes/float64(max(liveBytes, 1)))
	return int(min(max(percent, leastPercent), mostPercent))
}

// Tend adjusts the growth of the heap once a second, until stop is called. The environment variables GOGC and
// GOMEMLIMIT, if set, have precedence.
func Tend() (stop func()) {
	if bytes, is := memoryLimit("/proc/self/cgroup", "/sys/fs/cgroup"); is && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(limitPart * float64(bytes)))
	}
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tend(stopping)
	}()
	return func() {
		close(stopping)
		<-stopped
	}
}

func tend(stopping <-chan struct{}) {
	before := debug.SetGCPercent(mostPercent)
	defer debug.SetGCPercent(before)
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}}
	set, rate, spare := mostPercent, allocation{perS: busyBytes}, spare{}
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		metrics.Read(heap)
		rate.take(heap[1].Value.Uint64(), time.Now())
		// changing the value stops all goroutines for a moment
		live := heap[0].Value.Uint64()
		if wanted := headroomPercent(live, rate.perS); 10*wanted > 11*set || 10*wanted < 9*set {
			debug.SetGCPercent(wanted)
			set = wanted
		}
		held := heap[2].Value.Uint64() + heap[3].Value.Uint64() + heap[4].Value.Uint64()
		if spare.take(held, rate.perS, time.Now()) {
			debug.FreeOSMemory()
		}
		select {
		case <-stopping:
			return
		case <-ticker.C:
		}
	}
}

// spare detects memory that the heap no longer needs, for example after a burst. Go returns memory only with the next
// collection, and an idle collector rarely has one.
type spare struct {
	least uint64 // smallest heap since memory was last returned
	at    time.Time
}

// take receives the size of the heap and the allocation rate in bytes per second. It returns true if the heap should
// be collected and all free memory returned.
func (s *spare) take(held uint64, perS float64, now time.Time) bool {
	if s.at.IsZero() {
		s.least, s.at = held, now
	}
	s.least = min(s.least, held)
	if perS > usualBytes || held < s.least+max(leastSpare, s.least/4) || now.Sub(s.at) < settlesIn {
		return false
	}
	s.at = time.Time{}
	return true
}

// allocation estimates the allocation rate in bytes per second. It follows a rise at once and a fall slowly.
type allocation struct {
	perS  float64
	bytes uint64 // total at the time at
	at    time.Time
}

// take receives the total number of allocated bytes.
func (a *allocation) take(bytes uint64, now time.Time) {
	took := now.Sub(a.at)
	if !a.at.IsZero() && took > 0 {
		present := min(float64(bytes-a.bytes)/took.Seconds(), busyBytes) // a higher rate makes no difference
		a.perS = max(present, present+(a.perS-present)*math.Exp(-took.Seconds()/settlesIn.Seconds()))
	}
	a.bytes, a.at = bytes, now
}

// Most returns the maximum size of the Go heap in bytes. It is GOMEMLIMIT or, if that is not set, a share of the limit
// of the control group or the machine. It returns 0 if neither is known.
func Most() int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return debug.SetMemoryLimit(-1)
	}
	bytes, is := memoryLimit("/proc/self/cgroup", "/sys/fs/cgroup")
	var machine unix.Sysinfo_t
	if unix.Sysinfo(&machine) == nil {
		if all := int64(machine.Totalram) * int64(machine.Unit); !is || all < bytes {
			bytes = all
		}
	}
	return int64(limitPart * float64(bytes))
}

// memoryLimit returns the memory limit of the process by its control group, version 1 or 2, or by a parent group. It
// returns false if there is no readable limit.
func memoryLimit(of, mounted string) (bytes int64, is bool) {
	text, err := os.ReadFile(of)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		top, file := mounted, "memory.max"
		if parts[1] == "memory" {
			top, file = filepath.Join(mounted, "memory"), "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for dir := filepath.Join(top, parts[2]); ; dir = filepath.Dir(dir) {
			// In a container the group's directory is often the mount point itself, so that missing files are skipped.
			if n, ok := limitIn(filepath.Join(dir, file)); ok && (!is || n < bytes) {
				bytes, is = n, true
			}
			if len(dir) <= len(top) {
				break
			}
		}
	}
	return bytes, is
}

// limitIn reads a limit. "max", or a number larger than any machine's memory, means no limit.
func limitIn(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && n > 0 && n < 1<<50
}
