// Package embedded keeps closed slices on this machine, in Prometheus' tsdb used as a library. It owns a directory of blocks,
// the head in memory, and a cursor: the place in the journal from which the head can be built again. It keeps no log of its
// own (the journal is the log), and knows neither journal, slicer nor catalogue.
package embedded

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
)

// Store is the embedded store. Append, Flush and Close are for one goroutine; queries come from any.
type Store struct{}

// Open opens the store in dir, which it makes where it is missing, and locks it. The head is empty: hand over again what closed
// from journal records at or after Durable.
func Open(dir string, options Options) (*Store, error) {
	return nil, errors.New("embedded store: not built yet")
}

// Append takes slices that closed from journal records before upTo.
func (s *Store) Append(ctx context.Context, upTo uint64, c *slice.Columns) (rejected map[string]int, err error) {
	return nil, errors.New("embedded store: not built yet")
}

// Durable is the journal position before the oldest slice that is not yet in a block on disk.
func (s *Store) Durable() uint64 { return 0 }

// Flush writes everything into blocks.
func (s *Store) Flush(ctx context.Context) error { return nil }

// Close flushes, and releases the directory. It may be called twice.
func (s *Store) Close(ctx context.Context) error { return nil }

// Querier lets the query engine read; *Store is a storage.Queryable.
func (s *Store) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return nil, errors.New("embedded store: not built yet")
}

// Snapshot writes the blocks, and one more block of what is in memory, into dir, while the store runs.
func (s *Store) Snapshot(dir string) error { return nil }
