package feed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/value"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// skipRequest asks the feed to abandon the entries before upTo, which the journal is about to release. The feed
// confirms once it has moved on.
type skipRequest struct {
	upTo journal.Position
	done chan error
}

// Leave makes the feed abandon what it has not read before upTo, so that the journal can release it, and returns when
// a restart would not read it either. It is for another goroutine than Run's, while Run runs. A feed that has read so
// far saves a checkpoint, at once or with the next tick; one whose store does not take what closed before that abandons
// those slices.
func (f *Feed) Leave(ctx context.Context, upTo journal.Position) error {
	request := skipRequest{upTo, make(chan error, 1)}
	select {
	case f.leave <- request:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-request.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// skipInterrupt is the error that ends a hand-over to a store which does not accept it, because a skip was requested
// meanwhile. Without it the retry would block until the store answers, and the journal could not release anything.
type skipInterrupt struct{ skipRequest }

func (skipInterrupt) Error() string { return "the journal releases what the store still lacks" }

// skipTo does what Leave asks for, and returns a reader that goes on behind it. Where that fails, as on a full disk,
// the journal keeps what it would have released, and asks again. interrupted means that the store was being offered
// what it does not accept.
func (f *Feed) skipTo(ctx context.Context, reader *journal.Reader, request skipRequest, interrupted bool) (
	*journal.Reader, error) {
	before := f.position
	var err error
	switch {
	case f.position < request.upTo:
		err = f.skip(ctx, request.upTo)
	case f.pipeline.closed().Len() == 0:
		f.checkpoint()
	case interrupted:
		err = f.giveUpClosed(ctx)
	// no checkpoint holds slices that wait to be handed over: with the next tick they are, or that is interrupted
	default:
		f.checkpointRequested.Store(true)
	}
	request.done <- err
	if err != nil {
		f.figures.failures.Inc()
		f.options.Logger.Warn("a store could not be left behind", "store", f.options.Name, "error", err)
	}
	if f.position == before {
		return reader, nil
	}
	again, err := f.journal.Reader(f.position)
	if err != nil {
		return reader, err
	}
	return again, reader.Close()
}

// skip brings the feed's place behind upTo. What is open or closed and not handed over would be incomplete or comes too
// late: it expires. The slicer's clock stands still meanwhile, so that no source counts as silent; each series gets its
// gap's marker when it goes on, and counters go on from where they were.
func (f *Feed) skip(ctx context.Context, upTo journal.Position) error {
	from := f.position
	samples, err := f.passOver(ctx, upTo)
	if err != nil {
		return fmt.Errorf("pass over %v to %v: %w", from, upTo, err)
	}
	f.pipeline.stats.read += samples
	f.pipeline.stats.expired += samples
	dropped := f.pipeline.dropOpen()
	f.figures.slices.WithLabelValues("expired", "").Add(float64(dropped))
	f.figures.expired.Inc()
	f.options.Logger.Error("the journal is full and releases entries that this store still lacks; they are missing in the store",
		"store", f.options.Name, "from", from, "to", upTo, "samples", samples, "slices", dropped)
	f.position = upTo
	if err := f.settle(ctx); err != nil {
		return err
	}
	f.rewind(f.position)
	f.figures.publish(f.pipeline, f.position)
	f.checkpoint()
	return nil
}

// giveUpClosed abandons the slices that the store does not take: what they were cut from has to go from the journal,
// and a checkpoint holds none. What is open stays.
func (f *Feed) giveUpClosed(ctx context.Context) error {
	dropped := f.pipeline.dropClosed()
	f.figures.slices.WithLabelValues("expired", "").Add(float64(dropped))
	f.figures.expired.Inc()
	f.options.Logger.Error("the journal is full and releases entries that this store does not accept; they are missing in the store",
		"store", f.options.Name, "before", f.position, "slices", dropped)
	if err := f.settle(ctx); err != nil {
		return err
	}
	f.figures.publish(f.pipeline, f.position)
	f.checkpoint()
	return nil
}

// passOver reads up to a place what series and producers there are and who is connected, and counts the samples.
func (f *Feed) passOver(ctx context.Context, upTo journal.Position) (samples uint64, err error) {
	reader, err := f.journal.Reader(f.position)
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	for at := f.position; at < upTo; {
		position, entry, err := reader.Next(ctx)
		if errors.Is(err, journal.ErrRead) { // it is abandoned anyway
			reader.Skip()
			f.figures.unreadable.Inc()
			continue
		}
		if err != nil {
			return 0, err
		}
		at = position
		switch e := entry.(type) {
		case *journal.Batch:
			if at <= upTo {
				samples += uint64(e.Samples())
			}
		case *journal.Tick:
		default:
			f.pipeline.apply(entry)
		}
	}
	return samples, nil
}

// settle moves the store's cursor to the feed's place: nothing that closed before it will come.
func (f *Feed) settle(ctx context.Context) error {
	closed := f.pipeline.closed()
	if _, err := f.store.Append(ctx, uint64(f.position), closed); err != nil {
		return fmt.Errorf("move the cursor: %w", err)
	}
	closed.Reset()
	if store, ok := f.store.(interface{ Flush(context.Context) error }); ok {
		if err := store.Flush(ctx); err != nil {
			return fmt.Errorf("move the cursor: %w", err)
		}
	}
	f.caught.Store(uint64(f.position))
	return nil
}

// dropOpen closes all open slices and forgets them with those that are closed, but not what series there are. It
// returns how many. Each of the series is owed a gap's marker in the place of the first slice that it lost.
func (p *pipeline) dropOpen() int {
	p.slicer.CloseAll()
	return p.dropClosed()
}

// dropClosed forgets the slices that are closed, as dropOpen does.
func (p *pipeline) dropClosed() int {
	closed := p.closed()
	n := closed.Len()
	for i, ref := range closed.Refs {
		p.stats.owe(ref, gap{closed.EndsMs[i], false})
	}
	for i, ref := range closed.HistogramRefs {
		p.stats.owe(ref, gap{closed.HistogramEndsMs[i], true})
	}
	closed.Refs, closed.EndsMs, closed.Values = closed.Refs[:0], closed.EndsMs[:0], closed.Values[:0]
	closed.HistogramRefs, closed.HistogramEndsMs, closed.Histograms = closed.HistogramRefs[:0],
		closed.HistogramEndsMs[:0], closed.Histograms[:0]
	return n
}

// gap is a marker that is owed to a series whose slices were lost. It is written when the series goes on, because the
// store gets the definition of the series again only then.
type gap struct {
	endMs        int64
	distribution bool
}

// owe records a marker for a series. The earliest one counts, so that the gap begins with the first slice that was
// lost.
func (l *stats) owe(ref slice.Ref, g gap) {
	if before, owed := l.owed[ref]; !owed || g.endMs < before.endMs {
		l.owed[ref] = g
	}
}

var staleNaN = math.Float64frombits(value.StaleNaN)

// payGaps adds the markers of series that go on: their definitions are known again.
func (p *pipeline) payGaps() {
	for _, ref := range p.closed().Retired {
		delete(p.stats.owed, ref)
	}
	if len(p.stats.owed) == 0 {
		return
	}
	closed := p.closed()
	refs := append(slices.Clone(closed.Refs), closed.HistogramRefs...)
	for _, ref := range refs {
		g, owed := p.stats.owed[ref]
		switch {
		case !owed:
		case g.distribution:
			closed.HistogramRefs, closed.HistogramEndsMs = append(closed.HistogramRefs, ref),
				append(closed.HistogramEndsMs, g.endMs)
			closed.Histograms = append(closed.Histograms, nil)
		default:
			closed.Refs, closed.EndsMs, closed.Values = append(closed.Refs, ref), append(closed.EndsMs, g.endMs),
				append(closed.Values, staleNaN)
		}
		delete(p.stats.owed, ref)
	}
}

// pendingSkip returns the skip that another goroutine has requested, if one has.
func (f *Feed) pendingSkip() (request skipRequest, is bool) {
	select {
	case request = <-f.leave:
		return request, true
	default:
		return skipRequest{}, false
	}
}

// asLeft is the request that interrupted a hand-over.
func asLeft(err error) (skipRequest, bool) {
	var left skipInterrupt
	return left.skipRequest, errors.As(err, &left)
}
