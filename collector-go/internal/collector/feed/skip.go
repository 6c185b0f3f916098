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

// skipRequest asks the feed to skip the entries before upTo, which the journal is about to release. The feed sends the
// result to done once it has moved on.
type skipRequest struct {
	upTo journal.Position
	done chan error
}

// Leave makes the feed skip the entries before upTo that it has not read, so that the journal can release them. It
// returns when a restart would not read them either. Call it while Run runs, from another goroutine.
//
// A feed that has already read these entries saves a checkpoint, at once or with the next tick. If its store does not
// accept the slices that closed from them, the feed drops those slices.
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

// skipInterrupt is the error that ends a hand-over to a failing store because a skip was requested. Without it the
// retries would block until the store answers, and the journal could not release anything.
type skipInterrupt struct{ skipRequest }

func (skipInterrupt) Error() string { return "the journal releases what the store still lacks" }

// skipTo performs a skip request and returns a reader that continues after it. If that fails, for example on a full
// disk, the journal keeps the entries and requests the skip again. interrupted is true if the request interrupted a
// hand-over that the store did not accept.
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
		err = f.dropClosed(ctx)
	// a checkpoint cannot contain closed slices: the next tick hands them over, or is interrupted
	default:
		f.checkpointRequested.Store(true)
	}
	request.done <- err
	if err != nil {
		f.figures.failures.Inc()
		f.options.Logger.Warn("failed to skip journal entries of a lagging store", "store", f.options.Name, "error", err)
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

// skip moves the feed to upTo. Open slices would be incomplete, and closed slices that were not handed over would be
// too late, so both expire. The slicer's clock does not advance meanwhile, so that no source counts as silent. Each
// series gets a gap marker when it continues, and counters continue from their last value.
func (f *Feed) skip(ctx context.Context, upTo journal.Position) error {
	from := f.position
	samples, err := f.passOver(ctx, upTo)
	if err != nil {
		return fmt.Errorf("skip %v to %v: %w", from, upTo, err)
	}
	f.pipeline.stats.read += samples
	f.pipeline.stats.expired += samples
	dropped := f.pipeline.dropOpen()
	f.figures.slices.WithLabelValues("expired", "").Add(float64(dropped))
	f.figures.expired.Inc()
	f.options.Logger.Error("the journal is full: skipped entries that this store has not read; they are missing in the store",
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

// dropClosed drops the slices that the store does not accept. The journal must release the entries they were cut
// from, and a checkpoint cannot contain them. Open slices stay.
func (f *Feed) dropClosed(ctx context.Context) error {
	dropped := f.pipeline.dropClosed()
	f.figures.slices.WithLabelValues("expired", "").Add(float64(dropped))
	f.figures.expired.Inc()
	f.options.Logger.Error("the journal is full: dropped slices that this store does not accept; they are missing in the store",
		"store", f.options.Name, "before", f.position, "slices", dropped)
	if err := f.settle(ctx); err != nil {
		return err
	}
	f.figures.publish(f.pipeline, f.position)
	f.checkpoint()
	return nil
}

// passOver applies all entries up to upTo except batches and ticks, whose effects are skipped. It counts the samples.
func (f *Feed) passOver(ctx context.Context, upTo journal.Position) (samples uint64, err error) {
	reader, err := f.journal.Reader(f.position)
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	for at := f.position; at < upTo; {
		position, entry, err := reader.Next(ctx)
		if errors.Is(err, journal.ErrRead) { // the feed skips this part anyway
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

// settle moves the store's cursor to the feed's position. No slice that closed before it will follow.
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

// dropOpen closes all open slices and drops all closed ones, but keeps the series. It returns the number of dropped
// slices. Each affected series is owed a gap marker at the time of the first slice that it lost.
func (p *pipeline) dropOpen() int {
	p.slicer.CloseAll()
	return p.dropClosed()
}

// dropClosed drops the closed slices and returns their number. It records the gap markers as dropOpen does.
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

// gap is a marker that is owed to a series whose slices were lost. It is written when the series continues, because the
// store receives the definition of the series again only then.
type gap struct {
	endMs        int64
	distribution bool
}

// owe records a marker for a series. If there are several, the earliest one is kept, so that the gap begins with the
// first slice that was lost.
func (l *stats) owe(ref slice.Ref, g gap) {
	if before, owed := l.owed[ref]; !owed || g.endMs < before.endMs {
		l.owed[ref] = g
	}
}

var staleNaN = math.Float64frombits(value.StaleNaN)

// payGaps adds the owed markers of series that continue, because their definitions are known to the store again.
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

// pendingSkip returns the skip that another goroutine has requested, if there is one.
func (f *Feed) pendingSkip() (request skipRequest, is bool) {
	select {
	case request = <-f.leave:
		return request, true
	default:
		return skipRequest{}, false
	}
}

// asLeft returns the skip request in an error that interrupted a hand-over.
func asLeft(err error) (skipRequest, bool) {
	var left skipInterrupt
	return left.skipRequest, errors.As(err, &left)
}
