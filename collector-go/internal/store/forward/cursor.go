package forward

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/disk"
)

// cursor is what a store remembers over a restart; docs/formats/forward-cursor.md describes the file.
type cursor struct {
	position uint64 // of the journal: everything that closed up to here was acknowledged
	reserved uint64 // of the journal: what closed behind position and up to here may have been sent
}

// reserveAhead is how much of the journal is reserved at once, so that a cursor needs no write before each request.
const reserveAhead = 16 << 20

const (
	cursorFile   = "cursor"
	cursorFormat = "bullet-metrics forward cursor 1\nposition %d\nreserved %d\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c cursor) encode() []byte {
	text := fmt.Sprintf(cursorFormat, c.position, c.reserved)
	return fmt.Appendf([]byte(text), "crc32c %08x\n", crc32.Checksum([]byte(text), castagnoli))
}

// decodeCursor accepts exactly what encode writes.
func decodeCursor(data []byte) (cursor, error) {
	var c cursor
	if _, err := fmt.Sscanf(string(data), cursorFormat, &c.position, &c.reserved); err != nil {
		return cursor{}, errors.New("not a cursor of version 1")
	}
	if string(c.encode()) != string(data) {
		return cursor{}, errors.New("the checksum does not match")
	}
	return c, nil
}

// readCursor reads the cursor of dir, which it makes where it is missing, and makes it durable: a process that was
// killed may have written it and not got to that, and what the journal releases for a cursor must not be asked for
// again after a loss of power. A store without one was given nothing yet.
func readCursor(files disk.FS, dir string) (cursor, error) {
	if err := files.MkdirAll(dir); err != nil {
		return cursor{}, fmt.Errorf("forward: make the directory of a cursor: %w", err)
	}
	if err := files.SyncDir(dir); err != nil {
		return cursor{}, fmt.Errorf("forward: sync the directory of a cursor: %w", err)
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
	if err != nil {
		return cursor{}, fmt.Errorf("forward: cursor %s: %w; remove the file to send the whole journal again", path,
			err)
	}
	return c, nil
}

// write replaces the cursor of dir: written aside, synced, renamed, directory synced.
func (c cursor) write(files disk.FS, dir string) error {
	if err := disk.WriteAside(files, dir, filepath.Join(dir, cursorFile), c.encode()); err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	return nil
}
