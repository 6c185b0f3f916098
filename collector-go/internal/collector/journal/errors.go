package journal

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrFull is what Append returns when it accepts no batch at the moment. errors.As with *FullError gives the reason
	// and when to try again.
	ErrFull = errors.New("journal is full")
	// ErrClosed is what every call returns after Close.
	ErrClosed = errors.New("journal is closed")
	// ErrExpired is returned by Reader for a position whose segment was deleted: the reader lagged for too long.
	ErrExpired = errors.New("journal position has been deleted")
	// ErrAhead is returned by Reader for a position that this journal cannot have given. The journal's directory was
	// replaced, and the position belongs to the previous journal. The caller has to start from the oldest entry.
	ErrAhead = errors.New("position is ahead of the journal")
	// ErrTooLarge is returned for a batch that does not fit into a record. A retry cannot succeed, so the sender must
	// drop it.
	ErrTooLarge = errors.New("batch is larger than a journal record may be")
	// ErrForgotten is what Append returns for a batch that refers to a series, layout or producer that was idle and has
	// been forgotten (see Forgotten). Nothing was taken; define what the batch refers to again, and send it under the
	// new ids.
	ErrForgotten = errors.New("batch refers to what the journal has forgotten")
	// ErrSeriesLimit is what Define returns when Options.MaxSeries are in use and none of them is idle. DefineProducer
	// returns ErrProducerLimit, and DefineLayout ErrLayoutLimit, for the same reason.
	ErrSeriesLimit   = errors.New("series limit of the journal reached")
	ErrProducerLimit = errors.New("producer limit of the journal reached")
	ErrLayoutLimit   = errors.New("limit of layouts, or of their columns, of the journal reached")
	// ErrRead is returned by Reader.Next when the disk fails to return what was written. Next may be called again and
	// tries again; Reader.Skip skips what cannot be read. Backoff decides when to do so.
	ErrRead = errors.New("journal cannot be read")
)

// FullError is an ErrFull with its reason. Nothing was taken and nothing is lost: the sender keeps the batch and sends
// it again after RetryAfter.
type FullError struct {
	Reason     string        // "queue", "share" (of the queue), "disk", "write" or "epochs"
	RetryAfter time.Duration // when trying again makes sense
	Err        error         // what the disk said, where it was the disk
}

func (e *FullError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%v (%s): %v", ErrFull, e.Reason, e.Err)
	}
	return fmt.Sprintf("%v (%s)", ErrFull, e.Reason)
}

// Is makes errors.Is(err, ErrFull) hold.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// Unwrap is what the disk said.
func (e *FullError) Unwrap() error { return e.Err }
