package embedded

import (
	"context"
	"fmt"
	"sync"

	"github.com/prometheus/prometheus/storage"
)

// readers are the queries under way. tsdb unmaps files when it closes; what still reads them then would bring the process down.
type readers struct {
	mu     sync.Mutex
	closed bool
	open   int
	none   chan struct{} // closed when the last one ends after close
}

// enter counts one in, until the returned function is called.
func (r *readers) enter() (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	r.open++
	return sync.OnceFunc(r.leave), nil
}

func (r *readers) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open--; r.open == 0 && r.closed {
		close(r.none)
	}
}

// close lets no more in and waits for those inside, as long as ctx lets it.
func (r *readers) close(ctx context.Context) error {
	r.mu.Lock()
	r.closed, r.none = true, make(chan struct{})
	if r.open == 0 {
		close(r.none)
	}
	r.mu.Unlock()
	select {
	case <-r.none:
		return nil
	default:
	}
	select {
	case <-r.none:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("embedded store: queries still read it; its files stay open until the process ends: %w", ctx.Err())
	}
}

// Querier lets the query engine read slices that end within [minMs, maxMs]; *Store is a storage.Queryable.
func (s *Store) Querier(minMs, maxMs int64) (storage.Querier, error) {
	leave, err := s.readers.enter()
	if err != nil {
		return nil, err
	}
	q, err := s.db.Querier(minMs, maxMs)
	if err != nil {
		leave()
		return nil, fmt.Errorf("embedded store: read: %w", err)
	}
	return &reader{q, leave}, nil
}

// reader is a querier that says when it is done.
type reader struct {
	storage.Querier
	leave func()
}

func (r *reader) Close() error {
	defer r.leave()
	return r.Querier.Close()
}
