// Package journal is the collector's log and the point of acknowledgement: what it has fsynced is never lost and never
// doubled. It keeps entries (entry.go) in segments on disk, in one order for all readers, with a dictionary of its own for
// series and producers. It knows nothing of streams, of what a metric means, or of slices.
//
// The format on disk is described in docs/formats/journal.md.
package journal

import (
	"context"
	"errors"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

const maxSegmentBytes = 1 << 31

var errNotBuilt = errors.New("journal: not built yet")

// Journal is safe for concurrent use.
type Journal struct{}

// Open opens the journal in dir, which is made if need be, and cuts what a crash left half-written. It fails when another
// process has the journal, when dir cannot be read, or when a newer version wrote it; a full or failing disk is no reason
// (see Ready).
func Open(dir string, o Options) (*Journal, error) { return nil, errNotBuilt }

// Close writes what is queued, and returns when that is durable or has failed. It may be called twice.
func (j *Journal) Close() error { return nil }

// Ready says why the journal takes no batches at the moment; nil when it does.
func (j *Journal) Ready() error { return nil }

// Define gives a series its ID, the same for the same series for as long as the journal remembers it.
func (j *Journal) Define(series metric.Raw) (SeriesID, error) { return 0, errNotBuilt }

// DefineProducer gives a producer its ID; p.ID is ignored.
func (j *Journal) DefineProducer(p ProducerDefined) (ProducerID, error) { return 0, errNotBuilt }

// Append queues a batch to be written. It keeps nothing of b. Unless it returns an error, done is called once, in the order
// of the calls of Append, from the journal's goroutine, and must not block: with nil when the batch is durable, with an
// ErrFull or ErrClosed when it was not taken. duplicate says that the journal already has or is about to write a batch of
// this epoch and sequence; it is then not written again, and done tells when the first copy is durable.
func (j *Journal) Append(b *Batch, done func(error)) (duplicate bool, err error) {
	return false, errNotBuilt
}

// Mark queues a *Connected, *Disconnected, *Tick or *Started. Ticks are lost while the disk fails; the others are kept until
// it has recovered.
func (j *Journal) Mark(e Entry) error { return errNotBuilt }

// Release says that no reader needs what is before p any more; segments wholly before it are deleted, oldest first.
func (j *Journal) Release(p Position) error { return errNotBuilt }

// Oldest is the first position that can still be read.
func (j *Journal) Oldest() Position { return 0 }

// Durable is the position behind the last durable entry.
func (j *Journal) Durable() Position { return 0 }

// Reader starts reading behind from: a position that a Reader returned, or 0 for the oldest entry that there is. ErrExpired
// when entries behind from have been deleted.
func (j *Journal) Reader(from Position) (*Reader, error) { return nil, errNotBuilt }

// Reader reads durable entries in order. It is for one goroutine.
type Reader struct{}

// Next waits for the next entry and returns it with the position to resume from after it. Before the first entry come the
// definitions that were made before the reader's place; their position is the reader's place itself. The entry is valid
// until the next call. After Journal.Close what is durable is still handed out, then ErrClosed.
func (r *Reader) Next(ctx context.Context) (Position, Entry, error) { return 0, nil, errNotBuilt }

// Close frees the reader's file.
func (r *Reader) Close() error { return nil }
