package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
)

const sectorBytes = 512

var (
	errPowerless   = errors.New("the machine is off")
	errNoSpace     = errors.New("no space left on device")
	errInputOutput = errors.New("input/output error")
)

// memFS is a disk in memory behind a page cache. What was not fsynced is lost with the power, sector by sector as chance has
// it; a failed fsync forgets that its pages were dirty, as Linux does; names are durable after SyncDir.
type memFS struct {
	mu      sync.Mutex
	random  *rand.Rand
	files   map[string]*memFile // as processes see them
	durable map[string]*memFile // names that survive
	locked  map[string]bool
	off     bool // nothing can be changed any more
	calls   int
	// fault is asked before every call that changes something; its error is the call's.
	fault func(call int, op, name string) error
	// room bounds the bytes of all files, if it is not 0.
	room int64
}

type memFile struct {
	cache, disk []byte
	dirty       map[int]bool // sectors of cache that an fsync would write
}

func newMemFS(seed uint64) *memFS {
	return &memFS{random: rand.New(rand.NewPCG(seed, 1)), files: map[string]*memFile{}, durable: map[string]*memFile{},
		locked: map[string]bool{}}
}

// enter counts a call and says whether it fails. The caller holds mu.
func (m *memFS) enter(op, name string) error {
	if m.off {
		return errPowerless
	}
	m.calls++
	if m.fault != nil {
		return m.fault(m.calls, op, filepath.Base(name))
	}
	return nil
}

func (m *memFS) setFault(fault func(call int, op, name string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = fault
}

func (m *memFS) setRoom(room int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room = room
}

// reboot ends every open handle and returns the disk that a new process finds: after a kill all that was written, after a
// loss of power what was fsynced and by chance some of the rest.
func (m *memFS) reboot(powerLoss bool) *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = true
	next := &memFS{random: m.random, locked: map[string]bool{}, files: m.files, durable: m.durable, calls: m.calls}
	if powerLoss {
		next.files = m.survivors()
		next.durable = maps.Clone(next.files)
	}
	return next
}

func (m *memFS) survivors() map[string]*memFile {
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
	start, end := sector*sectorBytes, min((sector+1)*sectorBytes, len(f.cache))
	if start >= end {
		return disk
	}
	if len(disk) < end {
		disk = append(disk, make([]byte, end-len(disk))...)
	}
	copy(disk[start:end], f.cache[start:end])
	return disk
}

func (m *memFS) MkdirAll(dir string) error { return nil }

func (m *memFS) Create(name string) (File, error) {
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

func (m *memFS) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return nil, fs.ErrNotExist
	}
	return &memHandle{m, m.files[name], name}, nil
}

func (m *memFS) Remove(name string) error {
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

func (m *memFS) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.enter("syncdir", dir); err != nil {
		return err
	}
	m.durable = maps.Clone(m.files)
	return nil
}

func (m *memFS) ReadDir(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name := range m.files {
		names = append(names, filepath.Base(name))
	}
	slices.Sort(names)
	return names, nil
}

func (m *memFS) Lock(name, holder string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locked[name] {
		return nil, fmt.Errorf("in use")
	}
	m.locked[name] = true
	return closer(func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.locked, name)
		return nil
	}), nil
}

type closer func() error

func (c closer) Close() error { return c() }

type memHandle struct {
	m    *memFS
	f    *memFile
	name string
}

func (h *memHandle) ReadAt(p []byte, off int64) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return bytes.NewReader(h.f.cache).ReadAt(p, off)
}

func (h *memHandle) WriteAt(p []byte, off int64) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.m.enter("write", h.name); err != nil {
		if err != errPowerless {
			h.write(p[:h.m.random.IntN(len(p)+1)], off) // part of it got through
		}
		return 0, err
	}
	if grown := off + int64(len(p)) - int64(len(h.f.cache)); h.m.room > 0 && grown > 0 && h.m.used()+grown > h.m.room {
		part := max(0, int64(len(p))-(h.m.used()+grown-h.m.room))
		h.write(p[:part], off)
		return int(part), errNoSpace
	}
	h.write(p, off)
	return len(p), nil
}

// used is the bytes of all files. The caller holds mu.
func (m *memFS) used() (sum int64) {
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
	for sector := int(off) / sectorBytes; sector <= (int(off)+len(p)-1)/sectorBytes; sector++ {
		h.f.dirty[sector] = true
	}
}

func (h *memHandle) Sync() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	err := h.m.enter("sync", h.name)
	if err == errPowerless {
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

func (h *memHandle) Truncate(size int64) error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.m.enter("truncate", h.name); err != nil {
		return err
	}
	h.f.cache = h.f.cache[:min(size, int64(len(h.f.cache)))]
	return nil
}

func (h *memHandle) Size() (int64, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return int64(len(h.f.cache)), nil
}

func (h *memHandle) Close() error { return nil }
