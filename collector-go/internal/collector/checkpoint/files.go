// Package checkpoint stores the state of a journal reader in files, each complete or absent. A store that restarts
// loads the newest usable checkpoint and replays the journal from its position, instead of from the oldest entry.
//
// It also holds the states that are exported for a transfer to another collector (transfer.go). It never decodes a
// state: the feed defines what a state contains. Start reading with Files.Save and Files.Newest.
package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// maxCheckpoints is the number of checkpoints that are kept. If there are more, every second one is deleted, except the
// newest. A store that lagged for long then replays more entries, but no entry is lost to it.
const maxCheckpoints = 64

// ErrNone means that no checkpoint is usable. The reader then starts from the journal's oldest entry.
var ErrNone = errors.New("no checkpoint at or before the cursor")

// Files manages the checkpoints in one reader's directory. A file "checkpoint-<position>" is the reader's complete
// state right after the journal entry at that position. The format is described in docs/formats/checkpoint.md.
//
// Several checkpoints are kept, because the store behind the reader may be older than the newest one. That happens, for
// example, if the store lost its last writes. Files is not safe for concurrent use.
type Files struct {
	dir       string
	fs        disk.FS
	positions []journal.Position // ascending
}

const (
	prefix       = "checkpoint-"
	magic        = "BMCK"
	headerLength = len(magic) + 4 // followed by the CRC32C of the state
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Open creates the directory if needed, and lists its checkpoints. fs is nil for the operating system's file system.
func Open(dir string, fs disk.FS) (*Files, error) {
	c := &Files{dir: dir, fs: orSystem(fs)}
	if err := c.fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("create the checkpoint directory: %w", err)
	}
	// A killed process may have written a checkpoint that is not durable yet. Without this sync, a power failure could
	// remove it after Prune has deleted the one before it.
	if err := c.fs.SyncDir(dir); err != nil {
		return nil, fmt.Errorf("sync the checkpoint directory: %w", err)
	}
	names, err := c.fs.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the checkpoints: %w", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, disk.AsideSuffix) { // left behind by a crash during Save
			_ = c.fs.Remove(filepath.Join(dir, name))
			continue
		}
		digits, ours := strings.CutPrefix(name, prefix)
		if position, err := strconv.ParseUint(digits, 10, 64); ours && err == nil {
			c.positions = append(c.positions, journal.Position(position))
		}
	}
	sort.Slice(c.positions, func(i, j int) bool { return c.positions[i] < c.positions[j] })
	return c, nil
}

func orSystem(fs disk.FS) disk.FS {
	if fs == nil {
		return disk.System{}
	}
	return fs
}

func (c *Files) path(p journal.Position) string {
	return filepath.Join(c.dir, fmt.Sprintf("%s%020d", prefix, p))
}

// Newest restores the newest usable checkpoint at or before limit, and returns its position. It reports a damaged
// checkpoint to unusable and skips it. Using an older one only makes the replay longer.
//
// If a newer version wrote the checkpoint, Newest returns a disk.ErrNewer with the file's name. Using an older
// checkpoint instead would lose state of the newer program.
func (c *Files) Newest(limit journal.Position, restore func(state []byte) error,
	unusable func(path string, err error)) (journal.Position, error) {
	for i := len(c.positions) - 1; i >= 0; i-- {
		p := c.positions[i]
		if p > limit {
			continue
		}
		state, err := read(c.fs, c.path(p))
		if err == nil {
			err = restore(state)
		}
		if err == nil {
			return p, nil
		}
		if errors.Is(err, disk.ErrNewer) {
			return 0, fmt.Errorf("%s: %w", c.path(p), err)
		}
		unusable(c.path(p), err)
	}
	return 0, ErrNone
}

func read(fs disk.FS, path string) ([]byte, error) {
	data, err := disk.ReadFile(fs, path)
	if err != nil {
		return nil, err
	}
	return decode(data)
}

// decode returns the state in a checkpoint file. It fails if the file is no checkpoint or its checksum does not match.
func decode(data []byte) ([]byte, error) {
	if len(data) < headerLength || string(data[:len(magic)]) != magic {
		return nil, errors.New("not a checkpoint")
	}
	state := data[headerLength:]
	if crc32.Checksum(state, castagnoli) != binary.LittleEndian.Uint32(data[len(magic):]) {
		return nil, errors.New("its checksum does not match")
	}
	return state, nil
}

// Save stores the state at p, which consists of consecutive parts. It writes a temporary file, syncs it and renames it,
// so that a crash leaves either the whole checkpoint or none.
func (c *Files) Save(p journal.Position, state ...[]byte) error {
	sum := uint32(0)
	for _, part := range state {
		sum = crc32.Update(sum, castagnoli, part)
	}
	parts := append([][]byte{binary.LittleEndian.AppendUint32([]byte(magic), sum)}, state...)
	if err := disk.WriteAside(c.fs, c.dir, c.path(p), parts...); err != nil {
		return fmt.Errorf("save the checkpoint: %w", err)
	}
	if n := len(c.positions); n == 0 || c.positions[n-1] < p {
		c.positions = append(c.positions, p)
	}
	return nil
}

// Prune deletes the checkpoints that a restart would never read: those before the newest one at or before the store's
// cursor. It returns the oldest position that is kept, or 0 if no checkpoint is at or before the cursor.
func (c *Files) Prune(cursor journal.Position) journal.Position {
	first := 0
	for i, p := range c.positions {
		if p <= cursor {
			first = i
		}
	}
	c.remove(func(i int) bool { return i < first })
	if len(c.positions) > maxCheckpoints {
		c.remove(func(i int) bool { return i%2 == 1 && i < len(c.positions)-1 })
	}
	if len(c.positions) == 0 || c.positions[0] > cursor {
		return 0
	}
	return c.positions[0]
}

// Keep deletes all but the newest n checkpoints. It returns the oldest position that is kept, or 0 if there is none.
func (c *Files) Keep(n int) journal.Position {
	first := len(c.positions) - n
	c.remove(func(i int) bool { return i < first })
	if len(c.positions) == 0 {
		return 0
	}
	return c.positions[0]
}

func (c *Files) remove(unwanted func(int) bool) {
	kept := c.positions[:0:0]
	for i, p := range c.positions {
		// A file that cannot be deleted is tried again after the next start.
		if unwanted(i) && c.fs.Remove(c.path(p)) == nil {
			continue
		}
		kept = append(kept, p)
	}
	c.positions = kept
}

// Discard removes every checkpoint after p. It is for checkpoints beyond the end of the journal.
func (c *Files) Discard(p journal.Position) {
	c.remove(func(i int) bool { return c.positions[i] > p })
}

// CheckVersion calls check with the newest checkpoint in a directory, and changes nothing. It returns a disk.ErrNewer
// with the file's name if a newer program wrote that checkpoint. A damaged or missing file is no error.
func CheckVersion(dir string, fs disk.FS, check func(state io.ReaderAt) error) error {
	fs = orSystem(fs)
	names, err := fs.ReadDir(dir)
	if err != nil {
		return nil // Open reports that
	}
	newest := ""
	for _, name := range names {
		if strings.HasPrefix(name, prefix) && !strings.HasSuffix(name, disk.AsideSuffix) {
			newest = max(newest, name)
		}
	}
	path := filepath.Join(dir, newest)
	f, err := fs.Open(path)
	if newest == "" || err != nil {
		return nil
	}
	defer f.Close()
	newer := check(io.NewSectionReader(f, int64(headerLength), math.MaxInt64-int64(headerLength)))
	if !errors.Is(newer, disk.ErrNewer) {
		return nil
	}
	if _, damage := read(fs, path); damage != nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, newer)
}

// Check reads the checkpoints in a directory and reports the damaged ones. It changes nothing. fs is nil for the
// operating system's file system.
func Check(dir string, fs disk.FS, report func(file string, damage error)) error {
	fs = orSystem(fs)
	names, err := fs.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list the checkpoints: %w", err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) || strings.HasSuffix(name, disk.AsideSuffix) {
			continue
		}
		path := filepath.Join(dir, name)
		if _, err := read(fs, path); err != nil {
			report(path, err)
		}
	}
	return nil
}
