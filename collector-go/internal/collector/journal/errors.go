package journal

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrFull is returned by Append if the journal accepts no batch at the moment. errors.As with *FullError gives the
	// reason and when to try again.
	ErrFull = errors.New("journal is full")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("journal is closed")
	// ErrExpired is returned by Reader for a position whose segment was deleted, because the reader lagged for too
	// long.
	ErrExpired = errors.New("journal position has been deleted")
	// ErrAhead is returned by Reader for a position that is not in this journal yet. The journal's directory was
	// replaced, and the position belongs to the previous journal. The caller has to start from the oldest entry.
	ErrAhead = errors.New("position is ahead of the journal")
	// ErrTooLarge is returned for a batch that does not fit into a record. A retry cannot succeed, so the sender must
	// drop it.
	ErrTooLarge = errors.New("batch exceeds the maximum size of a journal record")
	// ErrForgotten is returned by Append for a batch that refers to a series, layout or producer that was idle and was
	// forgotten (see Forgotten). The batch was not queued. Define its series again, and send it with the new ids.
	ErrForgotten = errors.New("batch refers to a definition that the journal has removed")
	// ErrSeriesLimit is returned by Define if Options.MaxSeries are in use and none of them is idle. DefineProducer
	// returns ErrProducerLimit, and DefineLayout ErrLayoutLimit, for the same reason.
	ErrSeriesLimit   = errors.New("series limit of the journal reached")
	ErrProducerLimit = errors.New("producer limit of the journal reached")
	ErrLayoutLimit   = errors.New("layout limit of the journal reached")
	// ErrRead is returned by Reader.Next if the disk fails to return what was written. Next may be called again and
	// then retries. Reader.Skip skips the part that cannot be read. Backoff decides when to do so.
	ErrRead = errors.New("journal cannot be read")
)

// FullError is an ErrFull with its reason. The batch was not queued and nothing is lost: the sender keeps the batch and
// sends it again after RetryAfter.
type FullError struct {
	Reason     string        // "queue", "share" (of the queue), "disk", "write" or "epochs"
	RetryAfter time.Duration // when to try again
	Err        error         // the error of the disk, if the disk is the reason
}

func (e *FullError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%v (%s): %v", ErrFull, e.Reason, e.Err)
	}
	return fmt.Sprintf("%v (%s)", ErrFull, e.Reason)
}

// Is makes errors.Is(err, ErrFull) true.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// Unwrap returns the error of the disk, if there is one.
func (e *FullError) Unwrap() error { return e.Err }
