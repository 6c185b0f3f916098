package blocks

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Edition is the directory of an embedded store of the first edition. That edition kept its slices in blocks of
// Prometheus' tsdb without a write-ahead log, and its journal position in a cursor file. Edition only reads it, until
// Remove deletes it.
type Edition struct {
	dir    string
	cursor uint64
	db     *tsdb.DBReadOnly
	blocks []tsdb.BlockReader
}

// OpenEdition opens the store in dir. It returns nil without an error if dir has no store of the first edition. It
// deletes what the first edition had in memory when it ended, because the journal still has those slices.
func OpenEdition(dir string) (*Edition, error) {
	cursor, err := readCursor(filepath.Join(dir, cursorFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it had stored nothing yet, so the journal has everything
	}
	if err != nil {
		return nil, err
	}
	e := &Edition{dir: dir, cursor: cursor}
	path := filepath.Join(dir, blocksDir)
	// Slices in a remaining head come again from the journal.
	if err := os.RemoveAll(filepath.Join(path, "chunks_head")); err != nil {
		return nil, err
	}
	if e.db, err = tsdb.OpenDBReadOnly(path, "", slog.New(slog.DiscardHandler)); err != nil {
		return nil, fmt.Errorf("open the blocks in %s: %w", path, err)
	}
	if e.blocks, err = e.db.Blocks(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the blocks in %s: %w", path, err), e.db.Close())
	}
	return e, nil
}

// Cursor returns the journal position up to which the blocks have all slices.
func (e *Edition) Cursor() uint64 { return e.cursor }

// Slices returns the number of slices according to the blocks' metadata, for a progress report. A slice in two blocks
// counts twice.
func (e *Edition) Slices() (n uint64) {
	for _, b := range e.blocks {
		n += b.Meta().Stats.NumSamples
	}
	return n
}

// Range returns the end of the first slice and a time after the end of the last one, in ms since the Unix epoch. Both
// are 0 if there are no blocks.
func (e *Edition) Range() (fromMs, toMs int64) {
	for i, b := range e.blocks {
		meta := b.Meta()
		if i == 0 {
			fromMs, toMs = meta.MinTime, meta.MaxTime
		}
		fromMs, toMs = min(fromMs, meta.MinTime), max(toMs, meta.MaxTime)
	}
	return fromMs, toMs
}

// Querier reads the slices that end within [minMs, maxMs]. Blocks may overlap, but a slice in two of them is returned
// only once.
func (e *Edition) Querier(minMs, maxMs int64) (storage.Querier, error) {
	var all []storage.Querier
	for _, b := range e.blocks {
		if meta := b.Meta(); meta.MinTime > maxMs || meta.MaxTime <= minMs {
			continue
		}
		q, err := tsdb.NewBlockQuerier(b, minMs, maxMs)
		if err != nil {
			for _, open := range all {
				err = errors.Join(err, open.Close())
			}
			return nil, fmt.Errorf("block %s: %w", b.Meta().ULID, err)
		}
		all = append(all, q)
	}
	return storage.NewMergeQuerier(all, nil, storage.ChainedSeriesMerge), nil
}

// Each calls give for every series with slices that end within [minMs, maxMs], sorted by labels. It ends at the first
// error of give. A series is valid until give returns.
func (e *Edition) Each(ctx context.Context, minMs, maxMs int64, give func(storage.Series) error) (err error) {
	q, err := e.Querier(minMs, maxMs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	set := q.Select(ctx, true, &storage.SelectHints{Start: minMs, End: maxMs},
		labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
	for set.Next() {
		if err := give(set.At()); err != nil {
			return err
		}
	}
	return set.Err()
}

// Close closes the files.
func (e *Edition) Close() error { return e.db.Close() }

// Remove closes the edition and deletes its directory. Call it only when all slices have been converted.
func (e *Edition) Remove() error { return errors.Join(e.Close(), os.RemoveAll(e.dir)) }

// These names and formats describe the first edition's directory: its cursor, and its blocks below blocks/.
const (
	cursorFile   = "cursor"
	blocksDir    = "blocks"
	cursorFormat = "bullet-metrics embedded cursor 1\nposition %d\nnewest_ms %d\nhanded %d\nstored_ms %d\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readCursor reads the first edition's cursor, which consists of four numbers in a fixed form and their checksum. The
// error is fs.ErrNotExist if the directory has no cursor and therefore no slices.
func readCursor(path string) (position uint64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return decodeCursor(path, data)
}

// decodeCursor accepts exactly what the first edition wrote. For anything else, the error says what to do. Without the
// position, nobody knows which slices the blocks have.
func decodeCursor(path string, data []byte) (position uint64, err error) {
	var newest, stored int64
	var handed uint64
	if _, err := fmt.Sscanf(string(data), cursorFormat, &position, &newest, &handed, &stored); err != nil {
		return 0, fmt.Errorf(
			"%s is not a cursor of version 1: remove it to fill the store from the journal, without its blocks", path)
	}
	text := fmt.Appendf(nil, cursorFormat, position, newest, handed, stored)
	if want := fmt.Appendf(text, "crc32c %08x\n", crc32.Checksum(text, castagnoli)); !slices.Equal(want, data) {
		return 0, fmt.Errorf(
			"%s: the checksum does not match: remove it to fill the store from the journal, without its blocks", path)
	}
	return position, nil
}
