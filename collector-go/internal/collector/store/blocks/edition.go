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

// Edition is the directory of an embedded store of the first edition, which kept its slices in blocks of Prometheus'
// tsdb, without a log, beside a cursor in the journal. It is only read, until Remove deletes it.
type Edition struct {
	dir    string
	cursor uint64
	db     *tsdb.DBReadOnly
	blocks []tsdb.BlockReader
}

// OpenEdition opens what is in dir; nil where no store of the first edition is. An error names what cannot be read. It
// deletes what the first edition had in memory when it ended, since the journal brings that again.
func OpenEdition(dir string) (*Edition, error) {
	cursor, err := readCursor(filepath.Join(dir, cursorFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it had kept nothing yet: the journal has all
	}
	if err != nil {
		return nil, err
	}
	e := &Edition{dir: dir, cursor: cursor}
	path := filepath.Join(dir, blocksDir)
	// A head that was left belongs to slices that come again from the journal.
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

// Cursor is the place in the journal up to which all slices are here.
func (e *Edition) Cursor() uint64 { return e.cursor }

// Slices is how many the blocks say that they hold, for a progress report; one that two blocks hold counts twice.
func (e *Edition) Slices() (n uint64) {
	for _, b := range e.blocks {
		n += b.Meta().Stats.NumSamples
	}
	return n
}

// Range is from the first slice's end to behind the last one's, ms; 0 and 0 where there are none.
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

// Querier reads the slices that end within [minMs, maxMs]. Blocks may overlap; a slice that two of them hold comes
// once.
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

// Each gives every series with slices that end within [minMs, maxMs], in the order of their labels. It ends with the
// first error of give. A series is valid until give returns.
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

// Close releases the files.
func (e *Edition) Close() error { return e.db.Close() }

// Remove deletes the directory: all that it held is elsewhere. It closes the edition first.
func (e *Edition) Remove() error { return errors.Join(e.Close(), os.RemoveAll(e.dir)) }

// What the first edition's directory holds: its cursor, and its blocks below blocks/.
const (
	cursorFile   = "cursor"
	blocksDir    = "blocks"
	cursorFormat = "bullet-metrics embedded cursor 1\nposition %d\nnewest_ms %d\nhanded %d\nstored_ms %d\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readCursor reads the first edition's cursor: its four numbers in a fixed form, and their checksum. A directory
// without one holds nothing, which is no error.
func readCursor(path string) (position uint64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return decodeCursor(path, data)
}

// decodeCursor accepts exactly what the first edition wrote. Anything else is an error that says what to do, because
// without the position nobody knows which slices the blocks have.
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
