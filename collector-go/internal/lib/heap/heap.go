// Package heap sets how far the Go heap of this process may grow, by how much of it is in use and how fast the program
// allocates. It knows nothing else of the program.
//
// Start with Tend; Most says how large the heap may get.
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

// By default Go lets the heap grow by 100% of the live heap. That collects a small heap all the time, and doubles a
// large one. For a given amount of memory, garbage collection costs least if the headroom of a heap grows with the
// square root of live bytes times allocation rate (Kirisame et al., Optimal Heap Limits for Reducing Browser Memory
// Use, OOPSLA 2022).
//
// Here live bytes are mostly series. A busy collector allocates tens of MB a second for messages, whatever the number
// of series; a higher rate gets no more headroom. A collector that is idle, or receives a sample a second, needs a
// quarter of the headroom: it collects less than once in ten seconds.
const (
	evenHeapBytes = 256 << 20 // a live heap of this size gets 100% headroom
	busyBytes     = 32 << 20  // a second: this allocation rate, and any higher one, gets all of the headroom
	idleBytes     = busyBytes / 16
	settlesIn     = 10 * time.Second // time constant of the allocation rate
	leastPercent  = 25               // of the live heap
	mostPercent   = 400
	tendEvery     = time.Second
	calmBytes     = busyBytes / 4 // a second: at this rate or less, unused memory is returned
	leastSpare    = 32 << 20      // bytes that are worth returning
	// of the memory that the process may have: the rest is for threads, mapped files and other programs' pages
	limitPart = 0.8
)

// headroomPercent is by how many percent of the live heap it may grow, at an allocation rate in bytes a second.
func headroomPercent(liveBytes uint64, bytesPerS float64) int {
	share := min(max(bytesPerS, idleBytes), busyBytes) / busyBytes
	percent := 100 * math.Sqrt(share*evenHeapBytes/float64(max(liveBytes, 1)))
	return int(min(max(percent, leastPercent), mostPercent))
}

// Tend adjusts how far the heap may grow once a second, until stop is called. The environment variables GOGC and
// GOMEMLIMIT, if set, take precedence.
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
		// setting it stops all for a moment
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

// spare watches for memory that the heap holds and need not: what a burst took. Go gives it back only when it collects
// next, and a collector that idles hardly does.
type spare struct {
	least uint64 // that the heap held since it gave back
	at    time.Time
}

// take takes what the heap holds and how much is allocated a second. It returns true where what is not needed should
// go: then the heap is collected, and all that is free given back.
func (s *spare) take(held uint64, perS float64, now time.Time) bool {
	if s.at.IsZero() {
		s.least, s.at = held, now
	}
	s.least = min(s.least, held)
	if perS > calmBytes || held < s.least+max(leastSpare, s.least/4) || now.Sub(s.at) < settlesIn {
		return false
	}
	s.at = time.Time{}
	return true
}

// allocation is how much is allocated a second: at once as much as is now, and what was before for a while.
type allocation struct {
	perS  float64
	bytes uint64 // up to at
	at    time.Time
}

// take takes how much has been allocated in all.
func (a *allocation) take(bytes uint64, now time.Time) {
	took := now.Sub(a.at)
	if !a.at.IsZero() && took > 0 {
		present := min(float64(bytes-a.bytes)/took.Seconds(), busyBytes) // more makes no difference
		a.perS = max(present, present+(a.perS-present)*math.Exp(-took.Seconds()/settlesIn.Seconds()))
	}
	a.bytes, a.at = bytes, now
}

// Most is how large the Go heap may get, bytes: GOMEMLIMIT, or else a part of what the control group or the machine
// allows; 0 where that is not known.
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

// memoryLimit is how much memory the process may have by its control group, of version 2 or 1, or by one above it;
// false where there is no limit that can be read.
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
			// In a container the group's own place is often the mount itself: what is not there is passed over.
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

// limitIn reads a limit; "max", or more than any machine has, is none.
func limitIn(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && n > 0 && n < 1<<50
}
