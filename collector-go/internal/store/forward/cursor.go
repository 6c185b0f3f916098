package forward

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
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

// readCursor reads the cursor of dir, which it makes where it is missing. A store without one was given nothing yet.
func readCursor(dir string) (cursor, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return cursor{}, fmt.Errorf("forward: make the directory of a cursor: %w", err)
	}
	path := filepath.Join(dir, cursorFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return cursor{}, nil
	}
	if err != nil {
		return cursor{}, fmt.Errorf("forward: read cursor: %w", err)
	}
	c, err := decodeCursor(data)
	if err != nil {
		return cursor{}, fmt.Errorf("forward: cursor %s: %w; remove the file to send the whole journal again", path, err)
	}
	return c, nil
}

// write replaces the cursor of dir: written aside, synced, renamed, directory synced.
func (c cursor) write(dir string) error {
	path := filepath.Join(dir, cursorFile)
	err := writeSynced(path+".tmp", c.encode())
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
