package embedded

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// cursor is what the store remembers over a restart beside its blocks; docs/stores/embedded.md describes the file.
type cursor struct {
	position uint64 // of the journal: replay from here
	newestMs int64  // the newest slice end among what was handed over before position; math.MinInt64 for none
	handed   uint64 // of the journal: everything that closed before it had been handed over when blocks were last written
	stored   int64  // of what closed before handed, all slices that end before this (ms) are in blocks
}

const (
	cursorFile   = "cursor"
	cursorFormat = "bullet-metrics embedded cursor 1\nposition %d\nnewest_ms %d\nhanded %d\nstored_ms %d\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// noCursor is that of a new store.
func noCursor() cursor { return cursor{newestMs: math.MinInt64, stored: math.MinInt64} }

func (c cursor) encode() []byte {
	text := fmt.Sprintf(cursorFormat, c.position, c.newestMs, c.handed, c.stored)
	return fmt.Appendf([]byte(text), "crc32c %08x\n", crc32.Checksum([]byte(text), castagnoli))
}

// decodeCursor accepts exactly what encode writes.
func decodeCursor(data []byte) (cursor, error) {
	var c cursor
	if _, err := fmt.Sscanf(string(data), cursorFormat, &c.position, &c.newestMs, &c.handed, &c.stored); err != nil {
		return cursor{}, errors.New("not a cursor of version 1")
	}
	if string(c.encode()) != string(data) {
		return cursor{}, errors.New("the checksum does not match")
	}
	return c, nil
}

// readCursor reads the cursor of dir. A store without one has kept nothing yet.
func readCursor(dir string) (cursor, error) {
	path := filepath.Join(dir, cursorFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return noCursor(), nil
	}
	if err != nil {
		return cursor{}, fmt.Errorf("embedded store: read cursor: %w", err)
	}
	c, err := decodeCursor(data)
	if err != nil {
		return cursor{}, fmt.Errorf("embedded store: cursor %s: %w; remove the file to fill the store again from the whole journal", path, err)
	}
	return c, nil
}

// write replaces the cursor of dir: written aside, synced, renamed, directory synced.
func (c cursor) write(dir string) error {
	path := filepath.Join(dir, cursorFile)
	if err := writeSynced(path+".tmp", c.encode()); err != nil {
		return fmt.Errorf("embedded store: write cursor: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("embedded store: write cursor: %w", err)
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("embedded store: write cursor: %w", err)
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

// String is for messages.
func (c cursor) String() string {
	return strings.ReplaceAll(strings.TrimSpace(string(c.encode())), "\n", ", ")
}
