// Package forward sends closed slices to a store on the network. It owns what all such stores have in common: the
// journal position, the size and order of requests, the search for refused points, and the metrics. A Protocol
// (packages remote and influx) determines the form of a request, and this package knows none of them.
//
// It has no queue, because the journal is the queue. A request that fails is sent again from the same columns. While
// the receiver is down, nothing is dropped: the feed stops delivering slices, and the journal grows up to its limit.
//
// A slice may arrive twice, since a crash can come between the acknowledgement and the write of the cursor. Apart from
// such repetitions, each series arrives in order of time, because some receivers refuse anything older.
//
// Start with Store in forward.go, then read send.go, and refusal.go for the meaning of answers.
package forward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// ErrClosed means that the store is closed.
var ErrClosed = errors.New("forward: closed")

// Protocol encodes and sends requests for one kind of receiver. One goroutine calls it, so it needs no lock.
type Protocol interface {
	// Define names a series. A reason other than "" means that the receiver takes no series of that kind.
	Define(d slice.Definition) (reason string)
	// Forget frees what Define keeps of a series. No point of it follows.
	Forget(ref slice.Ref)
	// Holds returns the reason why the receiver can never store a point, or "" if it can.
	Holds(c *slice.Columns, p Point) (reason string)
	// Encode appends the body of a request, before compression. The points are in the order of time, also within each
	// series.
	Encode(to []byte, c *slice.Columns, points []Point) []byte
	// Post sends a body, and returns nil when the receiver has acknowledged it. A *Refusal means that the receiver will
	// never accept at least some of the body. After any other error the same body is sent again later.
	Post(ctx context.Context, body []byte) error
	// Close closes idle connections.
	Close()
}

// Point refers to one slice of columns without copying it. Index is its position in Refs, or in HistogramRefs if
// Histogram is set.
type Point struct {
	EndMs     int64
	Ref       slice.Ref
	Index     int32
	Histogram bool
}

// Store is a store on the network as a feed sees it. One goroutine, the feed's, calls Append, Flush and Close. Only
// Durable may be called from others.
type Store struct {
	dir      string
	options  Options
	protocol Protocol
	figures  *figures
	log      *slog.Logger

	defined []string // by slice.Ref: undefined, "" if its points are sent, or the reason why not
	cursor  cursor   // the next cursor to write; saved is the one on disk
	saved   cursor
	before  uint64 // what closed up to this journal position may have been sent by an earlier process
	idle    int    // hand-overs without a slice since the cursor was written
	closed  bool
	pending hand // the current hand-over, kept while the receiver fails
	body    []byte

	durable atomic.Uint64
	closing sync.Once
}

// Open opens a store with its cursor in dir, which it creates if it is missing. It does not connect, so a collector can
// start while the receiver is down.
func Open(dir string, protocol Protocol, options Options) (*Store, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	if options.FS == nil {
		options.FS = disk.System{}
	}
	c, err := readCursor(options.FS, dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, options: options, protocol: protocol, log: options.Logger, cursor: c, saved: c,
		before: c.reserved}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.figures = newFigures(options)
	s.durable.Store(c.position)
	return s, nil
}

// Durable returns the journal position up to which the receiver has acknowledged everything, according to the cursor on
// disk. The journal may delete the entries before it.
func (s *Store) Durable() uint64 { return s.durable.Load() }

// Append sends slices that closed from journal entries up to upTo, and returns when the receiver has acknowledged all
// of them. rejected counts the slices that the receiver will never accept, by reason. After an error, call it again
// with the same columns: it continues after the points that were acknowledged. It does not send columns again whose
// upTo is at or before the acknowledged position.
func (s *Store) Append(ctx context.Context, upTo uint64, c *slice.Columns) (rejected map[string]int, err error) {
	if s.closed {
		return nil, ErrClosed
	}
	s.define(c.Definitions)
	if upTo <= s.cursor.position {
		s.retire(c.Retired)
		return nil, nil
	}
	if !s.pending.is(upTo, c) {
		s.pending.begin(upTo, c, upTo <= s.before)
	}
	if c.Len() > 0 {
		if err := s.reserve(upTo); err != nil {
			return nil, err
		}
		if err := s.send(ctx, c); err != nil {
			return nil, err
		}
	}
	rejected = s.pending.rejected
	s.cursor.position = upTo
	s.pending.forget()
	s.keep(c.Len())
	s.retire(c.Retired)
	return rejected, nil
}

// undefined is the reason for rejecting a slice whose Ref has no definition.
const undefined = "undefined"

func (s *Store) define(definitions []slice.Definition) {
	for _, d := range definitions {
		for int(d.Ref) >= len(s.defined) {
			s.defined = append(s.defined, undefined)
		}
		s.defined[d.Ref] = s.protocol.Define(d)
	}
}

// retire frees the names of series that end, once their last slices are sent. Each submission of a topology has series
// of its own.
func (s *Store) retire(refs []slice.Ref) {
	for _, ref := range refs {
		if int(ref) < len(s.defined) && s.defined[ref] != undefined {
			s.defined[ref] = undefined
			s.protocol.Forget(ref)
		}
	}
}

// reserve records on disk, ahead of time, how far into the journal this process may send. After a crash, the next
// process knows from this which points the receiver may have already. It does not count their refusal as a loss.
func (s *Store) reserve(upTo uint64) error {
	if upTo <= s.cursor.reserved {
		return nil
	}
	s.cursor.reserved = upTo + reserveAhead
	return s.save()
}

// keep writes the cursor if something was sent, and otherwise after every Options.IdleHandOvers hand-overs. Without the
// latter, a silent topology would keep the journal from deleting its records.
func (s *Store) keep(slices int) {
	s.idle++
	if slices == 0 && s.idle < s.options.IdleHandOvers {
		return
	}
	if err := s.save(); err != nil {
		s.figures.cursorFailures.Inc()
		s.log.Warn("failed to write the cursor of a store; a restart will resend more slices", "store", s.options.Name,
			"error", err)
	}
}

func (s *Store) save() error {
	s.idle = 0
	if s.cursor == s.saved {
		return nil
	}
	if err := s.cursor.write(s.options.FS, s.dir); err != nil {
		return err
	}
	s.saved = s.cursor
	s.durable.Store(s.saved.position)
	return nil
}

// Flush writes the cursor.
func (s *Store) Flush(context.Context) error { return s.save() }

// Close writes the cursor and closes idle connections. It may be called twice.
func (s *Store) Close(context.Context) (err error) {
	s.closing.Do(func() {
		s.closed = true
		s.protocol.Close()
		s.figures.Unregister()
		if err = s.save(); err != nil {
			err = fmt.Errorf("forward to %s: %w", s.options.Name, err)
		}
	})
	return err
}
