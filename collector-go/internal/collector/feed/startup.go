package feed

import (
	"context"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Startup is the progress of a collector after its start. Entries of the journal from before the start are read again.
// Until they are in the store, answers would be incomplete and alerts would be missing. Samples are accepted meanwhile.
type Startup struct {
	from, target uint64        // journal positions: the begin of reading, and the journal's end at the start
	position     func() uint64 // the position up to which answers are complete
	done         chan struct{} // closed once answers are complete
}

// progressEvery is the interval between two checks of the position.
const progressEvery = 10 * time.Millisecond

// NewStartup waits for a journal position. position returns the current one.
func NewStartup(target uint64, position func() uint64) *Startup {
	return &Startup{from: position(), target: target, position: position, done: make(chan struct{})}
}

// Replay waits until the journal has been read. It returns false if ctx ends first.
func (s *Startup) Replay(ctx context.Context) bool {
	return poll.Until(ctx, progressEvery, func() bool { return s.position() >= s.target }) == nil
}

// Finish releases all callers of Wait. It must be called once.
func (s *Startup) Finish() { close(s.done) }

// Wait blocks until Finish is called. If ctx ends first, it returns an error with the progress.
func (s *Startup) Wait(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	default:
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
	}
	position := s.position()
	if position >= s.target {
		return fmt.Errorf("starting up: replayed all %d journal entries, evaluating rules; retry shortly",
			s.target-min(s.from, s.target))
	}
	return fmt.Errorf("starting up: replayed %d of %d journal entries; retry shortly",
		position-min(s.from, position), s.target-min(s.from, s.target))
}
