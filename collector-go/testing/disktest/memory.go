// Package disktest is a disk for tests: in memory, with a page cache, faults, a bound, and a switch that takes its
// power away.
package disktest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// SectorBytes is what is written whole or not at all.
const SectorBytes = 512

// What a call fails with.
var (
	ErrPowerless   = errors.New("the machine is off")
	ErrNoSpace     = errors.New("no space left on device")
	ErrInputOutput = errors.New("input/output error")
)

// Memory is a disk in memory behind a page cache. What was not fsynced is lost with the power, sector by sector as
// chance has it; a failed fsync forgets that its pages were dirty, as Linux does; names are durable after SyncDir.
type Memory struct {
	mu      sync.Mutex
	random  *rand.Rand
	files   map[string]*memFile // as processes see them
	durable map[string]*memFile // names that survive
	locked  map[string]bool
	off     bool // nothing can be changed any more
	calls   int
	// fault is asked before every call that changes something; its error is the call's.
	fault func(call int, op, name string) error
	// readFault is asked before every sector is read, and every opening; its error is the call's.
	readFault func(name string, off, length int64) error
	// room bounds the bytes of all files, if it is not 0.
	room int64
}

type memFile struct {
	cache, disk []byte
	dirty       map[int]bool // sectors of cache that an fsync would write
}

// NewMemory is an empty disk; the seed decides what survives a loss of power.
func NewMemory(seed uint64) *Memory {
	return &Memory{random: rand.New(rand.NewPCG(seed, 1)), files: map[string]*memFile{}, durable: map[string]*memFile{},
		locked: map[string]bool{}}
}

// enter counts a call and reports whether it fails. The caller holds mu.
func (m *Memory) enter(op, name string) error {
	if m.off {
		return ErrPowerless
	}
	m.calls++
	if m.fault == nil {
		return nil
	}
	err := m.fault(m.calls, op, filepath.Base(name))
	m.off = err == ErrPowerless
	return err
}

// Off reports whether the machine is off.
func (m *Memory) Off() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.off
}

// Calls is how many calls have changed something, or tried to.
func (m *Memory) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// Bytes are a file's, as processes see them; nil where there is none.
func (m *Memory) Bytes(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.files[name]; f != nil {
		return bytes.Clone(f.cache)
	}
	return nil
}

// Put makes a file with these bytes, durable.
func (m *Memory) Put(name string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := &memFile{cache: bytes.Clone(data), disk: bytes.Clone(data), dirty: map[int]bool{}}
	m.files[name], m.durable[name] = f, f
}

// SetFault sets what is asked before every call that changes something: the how-manieth it is, its name (create, write,
// sync, truncate, rename, remove, syncdir) and the base name of its file. Its error is the call's.
func (m *Memory) SetFault(fault func(call int, op, name string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = fault
}

// SetReadFault sets what is asked before every sector of a file is read, by its base name; and before it is opened,
// with a length of 0. Its error is the call's, which gives back what lies before.
func (m *Memory) SetReadFault(fault func(name string, off, length int64) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readFault = fault
}

// readable is the error of a read. The caller holds mu.
func (m *Memory) readable(name string, off, length int64) error {
	if m.readFault == nil {
		return nil
	}
	return m.readFault(filepath.Base(name), off, length)
}

// SetRoom bounds the bytes of all files; 0 sets no bound.
func (m *Memory) SetRoom(room int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room = room
}

// Fill leaves no byte of room.
func (m *Memory) Fill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room = m.used()
}

// Reboot ends every open handle and returns the disk that a new process finds: after a kill all that was written, after
// a loss of power what was fsynced and by chance some of the rest.
func (m *Memory) Reboot(powerLoss bool) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = true
	next := &Memory{random: m.random, locked: map[string]bool{}, files: m.files, durable: m.durable, calls: m.calls}
	if powerLoss {
		next.files = m.survivors()
		next.durable = maps.Clone(next.files)
	}
	return next
}

func (m *Memory) survivors() map[string]*memFile {
	survivors := map[string]*memFile{}
	names := map[string]bool{}
	for name := range m.files {
		names[name] = true
	}
	for name := range m.durable {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		seen, lasting := m.files[name], m.durable[name]
		file := lasting
		if seen != lasting && m.random.IntN(2) == 0 {
			file = seen
		}
		if file != nil {
			survivors[name] = file.afterPowerLoss(m.random)
		}
	}
	return survivors
}

// afterPowerLoss is the file's disk, with each dirty sector there or not.
func (f *memFile) afterPowerLoss(random *rand.Rand) *memFile {
	disk := slices.Clone(f.disk)
	for _, sector := range slices.Sorted(maps.Keys(f.dirty)) {
		if random.IntN(2) == 0 {
			disk = f.persist(disk, sector)
		}
	}
	if len(f.disk) > len(f.cache) && random.IntN(2) == 0 {
		disk = disk[:min(len(disk), len(f.cache))]
	}
	return &memFile{cache: disk, disk: slices.Clone(disk), dirty: map[int]bool{}}
}

// persist copies a sector of the cache to disk.
func (f *memFile) persist(disk []byte, sector int) []byte {
	start, end := sector*SectorBytes, min((sector+1)*SectorBytes, len(f.cache))
	if start >= end {
		return disk
	}
	if len(disk) < end {
		disk = append(disk, make([]byte, end-len(disk))...)
	}
	copy(disk[start:end], f.cache[start:end])
	return disk
}

// MkdirAll implements disk.FS.
func (m *Memory) MkdirAll(dir string) error { return nil }

// Create implements disk.FS.
func (m *Memory) Create(name string) (disk.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("create", name); err != nil {
		return nil, err
	}
	if m.files[name] != nil {
		return nil, fs.ErrExist
	}
	m.files[name] = &memFile{dirty: map[int]bool{}}
	return &memHandle{m, m.files[name], name}, nil
}

// Open implements disk.FS.
func (m *Memory) Open(name string) (disk.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return nil, fs.ErrNotExist
	}
	if err := m.readable(name, 0, 0); err != nil {
		return nil, err
	}
	return &memHandle{m, m.files[name], name}, nil
}

// Remove implements disk.FS.
func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("remove", name); err != nil {
		return err
	}
	if m.files[name] == nil {
		return fs.ErrNotExist
	}
	delete(m.files, name)
	return nil
}

// Rename implements disk.FS.
func (m *Memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("rename", to); err != nil {
		return err
	}
	if m.files[from] == nil {
		return fs.ErrNotExist
	}
	m.files[to] = m.files[from]
	delete(m.files, from)
	return nil
}

// Free implements disk.FS.
func (m *Memory) Free(string) (free, size uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.room == 0 {
		return 1 << 40, 1 << 40, nil
	}
	return uint64(max(0, m.room-m.used())), uint64(m.room), nil
}

// SyncDir implements disk.FS.
func (m *Memory) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("syncdir", dir); err != nil {
		return err
	}
	maps.DeleteFunc(m.durable, func(name string, _ *memFile) bool { return filepath.Dir(name) == dir })
	for name, f := range m.files {
		if filepath.Dir(name) == dir {
			m.durable[name] = f
		}
	}
	return nil
}

// ReadDir implements disk.FS.
func (m *Memory) ReadDir(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name := range m.files {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Lock implements disk.FS.
func (m *Memory) Lock(name, holder string) (disk.Lock, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locked[name] {
		return nil, fmt.Errorf("in use")
	}
	m.locked[name] = true
	return heldLock(func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.locked, name)
		return nil
	}), nil
}

// heldLock gives a lock up. Directories of memory are not replaced.
type heldLock func() error

// Linked implements disk.Lock.
func (heldLock) Linked() (bool, error) { return true, nil }

// Close implements disk.Lock.
func (c heldLock) Close() error { return c() }

type memHandle struct {
	m    *Memory
	f    *memFile
	name string
}

// ReadAt implements disk.File.
func (h *memHandle) ReadAt(p []byte, off int64) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	for at, end := off, off+int64(len(p)); h.m.readFault != nil && at < end; at += SectorBytes - at%SectorBytes {
		if err := h.m.readable(h.name, at, min(SectorBytes-at%SectorBytes, end-at)); err != nil {
			n, _ := bytes.NewReader(h.f.cache).ReadAt(p[:at-off], off)
			return n, err
		}
	}
	return bytes.NewReader(h.f.cache).ReadAt(p, off)
}

// WriteAt implements disk.File.
func (h *memHandle) WriteAt(p []byte, off int64) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.m.enter("write", h.name); err != nil {
		if err != ErrPowerless {
			h.write(p[:h.m.random.IntN(len(p)+1)], off) // part of it got through
		}
		return 0, err
	}
	if grown := off + int64(len(p)) - int64(len(h.f.cache)); h.m.room > 0 && grown > 0 && h.m.used()+grown > h.m.room {
		part := max(0, int64(len(p))-(h.m.used()+grown-h.m.room))
		h.write(p[:part], off)
		return int(part), ErrNoSpace
	}
	h.write(p, off)
	return len(p), nil
}

// used is the bytes of all files. The caller holds mu.
func (m *Memory) used() (sum int64) {
	for _, f := range m.files {
		sum += int64(len(f.cache))
	}
	return sum
}

func (h *memHandle) write(p []byte, off int64) {
	if len(p) == 0 {
		return
	}
	if grown := int(off) + len(p) - len(h.f.cache); grown > 0 {
		h.f.cache = append(h.f.cache, make([]byte, grown)...)
	}
	copy(h.f.cache[off:], p)
	for sector := int(off) / SectorBytes; sector <= (int(off)+len(p)-1)/SectorBytes; sector++ {
		h.f.dirty[sector] = true
	}
}

// Sync implements disk.File.
func (h *memHandle) Sync() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	err := h.m.enter("sync", h.name)
	if err == ErrPowerless {
		return err
	}
	for _, sector := range slices.Sorted(maps.Keys(h.f.dirty)) {
		if err == nil || h.m.random.IntN(2) == 0 {
			h.f.disk = h.f.persist(h.f.disk, sector)
		}
	}
	h.f.dirty = map[int]bool{}
	if err == nil {
		h.f.disk = h.f.disk[:min(len(h.f.disk), len(h.f.cache))]
	}
	return err
}

// Truncate implements disk.File.
func (h *memHandle) Truncate(size int64) error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.m.enter("truncate", h.name); err != nil {
		return err
	}
	h.f.cache = h.f.cache[:min(size, int64(len(h.f.cache)))]
	return nil
}

// Size implements disk.File.
func (h *memHandle) Size() (int64, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return int64(len(h.f.cache)), nil
}

// Linked implements disk.File.
func (h *memHandle) Linked() (bool, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.m.files[h.name] == h.f, nil
}

// Close implements disk.File.
func (h *memHandle) Close() error { return nil }
