package forward

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// cursor holds the journal positions that a store keeps across restarts (docs/formats/forward-cursor.md).
type cursor struct {
	position uint64 // everything that closed up to this journal position was acknowledged
	reserved uint64 // what closed after position and up to here may have been sent
}

// reserveAhead is how many bytes of the journal are reserved at once, so that not every request needs a cursor write
// first.
const reserveAhead = 16 << 20

const (
	cursorFile    = "cursor"
	cursorMagic   = "bullet-metrics forward cursor "
	cursorVersion = 1
	cursorFormat  = cursorMagic + "%d\nposition %d\nreserved %d\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns four lines of text. The last line is a checksum of the others.
func (c cursor) encode() []byte {
	text := fmt.Sprintf(cursorFormat, cursorVersion, c.position, c.reserved)
	return fmt.Appendf([]byte(text), "crc32c %08x\n", crc32.Checksum([]byte(text), castagnoli))
}

// decodeCursor accepts exactly what encode writes. For a newer version it returns a disk.ErrNewer.
func decodeCursor(data []byte) (cursor, error) {
	var c cursor
	var version uint64
	if _, err := fmt.Sscanf(string(data), cursorMagic+"%d\n", &version); err != nil {
		return cursor{}, errors.New("not a cursor")
	}
	if err := disk.CheckVersion(version, cursorVersion); err != nil {
		return cursor{}, err
	}
	if _, err := fmt.Sscanf(string(data), cursorFormat, &version, &c.position, &c.reserved); err != nil {
		return cursor{}, errors.New("not a cursor of version 1")
	}
	if string(c.encode()) != string(data) {
		return cursor{}, errors.New("the checksum does not match")
	}
	return c, nil
}

// readCursor reads the cursor of dir, which it creates if it is missing. If there is no cursor, nothing was sent yet.
//
// It first makes the directory durable, because a process that was killed may have written the cursor without syncing
// it. The journal deletes entries according to the cursor, so a loss of power must not bring back an older one.
func readCursor(files disk.FS, dir string) (cursor, error) {
	if err := files.MkdirAll(dir); err != nil {
		return cursor{}, fmt.Errorf("forward: create the cursor directory: %w", err)
	}
	if err := files.SyncDir(dir); err != nil {
		return cursor{}, fmt.Errorf("forward: sync the cursor directory: %w", err)
	}
	path := filepath.Join(dir, cursorFile)
	data, err := disk.ReadFile(files, path)
	if errors.Is(err, fs.ErrNotExist) {
		return cursor{}, nil
	}
	if err != nil {
		return cursor{}, fmt.Errorf("forward: read cursor: %w", err)
	}
	c, err := decodeCursor(data)
	if errors.Is(err, disk.ErrNewer) {
		return cursor{}, fmt.Errorf("forward: cursor %s: %w", path, err)
	}
	if err != nil {
		return cursor{}, fmt.Errorf("forward: cursor %s: %w; run bullet-metrics fsck --repair to replace it; the whole journal is then sent again",
			path, err)
	}
	return c, nil
}

// Position returns the journal position up to which the store with a cursor in dir has sent everything. It returns 0 if
// there is no cursor.
func Position(files disk.FS, dir string) (uint64, error) {
	data, err := disk.ReadFile(files, filepath.Join(dir, cursorFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var c cursor
	if err == nil {
		c, err = decodeCursor(data)
	}
	return c.position, err
}

// SetPosition replaces the cursor in dir. No process may have the store open.
func SetPosition(files disk.FS, dir string, position uint64) error {
	return cursor{position: position, reserved: position}.write(files, dir)
}

// write replaces the cursor of dir atomically and durably.
func (c cursor) write(files disk.FS, dir string) error {
	if err := disk.WriteAside(files, dir, filepath.Join(dir, cursorFile), c.encode()); err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	return nil
}
