package experiment

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
)

// settle waits for what is still on its way when the last step ends: the queries under way, and the slices up to the end. What a
// bounded run cannot wait for is noted.
func (r *Runner) settle(ctx context.Context, held *load.Held, submitted, end time.Time) error {
	limit := r.settleLimit(submitted)
	waiting, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not in after %s", limit.Round(time.Second)))
	defer cancel()
	var queries sync.WaitGroup
	queries.Go(func() {
		if err := held.Drain(waiting); err != nil && ctx.Err() == nil {
			r.ports.Progress.Say("some queries had not returned when the time was up")
		}
	})
	err := r.awaitSlices(waiting, limit, end)
	queries.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.note("The last slices were not all in when the figures were read: %v.", err)
		r.ports.Progress.Say("the last slices are not all in: %v", err)
	}
	return nil
}

// reportTime is kept for reading the figures and writing the report.
const reportTime = 8 * time.Second

// settleLimit leaves a bounded run the time to write its report; an unbounded one waits as long as a query may take.
func (r *Runner) settleLimit(submitted time.Time) time.Duration {
	longest := r.options.Query.Life() + load.DefaultHeldOptions().Grace + r.options.tail()
	if r.options.Bound == 0 {
		return longest
	}
	left := r.options.Bound - reportTime - time.Since(submitted)
	return min(longest, max(left, r.options.tail()))
}

// awaitSlices waits until every series that the report is made of has its slice that ends at end, and so those of further selectors that
// have any.
func (r *Runner) awaitSlices(ctx context.Context, limit time.Duration, end time.Time, further ...string) error {
	var behind []string
	err := r.poll(ctx, limit, "the collector's last slices", func(ctx context.Context) (bool, error) {
		var err error
		behind, err = r.behind(ctx, end, further)
		return err == nil && len(behind) == 0, err
	})
	if err != nil && len(behind) > 0 {
		return fmt.Errorf("%w: %v", err, behind)
	}
	return err
}

// behind names the series whose newest slice ends before end.
func (r *Runner) behind(ctx context.Context, end time.Time, further []string) ([]string, error) {
	var behind []string
	needed := []string{r.options.selector(cpuMetric), r.options.selector(heapMetric), r.options.selector(queriesMetric, joinBolt), r.options.selector(latencyMetric)}
	for i, selector := range append(slices.Clone(needed), further...) {
		newest, err := r.ports.Slices.Newest(ctx, selector, time.Now())
		if err != nil {
			return nil, err
		}
		for _, series := range newest {
			if series.EndMs < end.UnixMilli() {
				behind = append(behind, fmt.Sprintf("%s of %s%s", selector, series.Labels["worker"], series.Labels["task"]))
			}
		}
		if len(newest) == 0 && i < len(needed) {
			behind = append(behind, selector)
		}
	}
	slices.Sort(behind)
	return slices.Compact(behind), nil
}
