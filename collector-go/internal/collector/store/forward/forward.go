// Package forward brings closed slices to a store on the network. It owns its place in the journal (a cursor on disk,
// written when the receiver has acknowledged), the size and order of requests, which refused point is to blame for a
// refused request, and what is counted. It keeps no queue: the journal is the queue. What a request looks like is a
// Protocol's; this package will never know.
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

// Protocol is the language of one kind of receiver. It is called by one goroutine.
type Protocol interface {
	// Define names a series; a reason other than "" means that the receiver takes no series of that kind.
	Define(d slice.Definition) (reason string)
	// Holds gives the reason why the receiver can never hold a point, "" where it can.
	Holds(c *slice.Columns, p Point) (reason string)
	// Encode appends a request's body, before compression. The points are in order of time, each series' too.
	Encode(to []byte, c *slice.Columns, points []Point) []byte
	// Post sends a body and returns nil when the receiver has acknowledged it. A *Refusal means that the receiver
	// refuses what is in the body, at least in part, and for ever. After any other error the same body is sent again
	// later.
	Post(ctx context.Context, body []byte) error
	// Close ends connections that are idle.
	Close()
}

// Point is one slice of columns: Index is that in Refs, or in HistogramRefs where Histogram is set.
type Point struct {
	EndMs     int64
	Ref       slice.Ref
	Index     int32
	Histogram bool
}

// Store is a store on the network, as a feed sees one. Append, Flush and Close are called by one goroutine.
type Store struct {
	dir      string
	options  Options
	protocol Protocol
	figures  *figures
	log      *slog.Logger

	defined []string // by slice.Ref: undefined, "" where points of it are sent, or else why not
	cursor  cursor   // what the cursor is to be; saved is as on disk
	saved   cursor
	before  uint64 // what closed from entries up to here may have been sent by the process before this one
	idle    int    // hand-overs without a slice since the cursor was written
	closed  bool
	pending hand // what is being handed over, kept while the receiver fails
	body    []byte

	durable atomic.Uint64
	closing sync.Once
}

// Open opens the place of a store in dir, which is made where it is missing. It connects to nothing.
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

// Durable is the journal position up to which the receiver has acknowledged everything, as written to disk.
func (s *Store) Durable() uint64 { return s.durable.Load() }

// Append sends slices that closed from journal entries up to upTo, and returns when the receiver has acknowledged all.
// After an error the call is to be repeated with the same columns: it goes on behind what was acknowledged. What lies
// at or before Durable is not sent again.
func (s *Store) Append(ctx context.Context, upTo uint64, c *slice.Columns) (rejected map[string]int, err error) {
	if s.closed {
		return nil, ErrClosed
	}
	s.define(c.Definitions)
	if upTo <= s.cursor.position {
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
	return rejected, nil
}

// undefined is the reason of a Ref without a definition.
const undefined = "undefined"

func (s *Store) define(definitions []slice.Definition) {
	for _, d := range definitions {
		for int(d.Ref) >= len(s.defined) {
			s.defined = append(s.defined, undefined)
		}
		s.defined[d.Ref] = s.protocol.Define(d)
	}
}

// reserve writes ahead how far into the journal this process may send, so that the next one knows what may be there
// already.
func (s *Store) reserve(upTo uint64) error {
	if upTo <= s.cursor.reserved {
		return nil
	}
	s.cursor.reserved = upTo + reserveAhead
	return s.save()
}

// keep writes the cursor where something was sent, and else now and then, so that a silent topology does not hold the
// journal.
func (s *Store) keep(slices int) {
	s.idle++
	if slices == 0 && s.idle < s.options.IdleHandOvers {
		return
	}
	if err := s.save(); err != nil {
		s.figures.cursorFailures.Inc()
		s.log.Warn("the cursor of a store is not written; a restart sends more again", "store", s.options.Name,
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

// Close writes the cursor and ends idle connections. It may be called twice.
func (s *Store) Close(context.Context) (err error) {
	s.closing.Do(func() {
		s.closed = true
		s.protocol.Close()
		s.figures.unregister()
		if err = s.save(); err != nil {
			err = fmt.Errorf("forward to %s: %w", s.options.Name, err)
		}
	})
	return err
}
