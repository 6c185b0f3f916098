package measure

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// awaitSlices waits until every series of the report has its slice that ends at end. It also waits for the existing
// series of further selectors. The error names the series that lag, because one worker may have died while the others
// report.
func (s *Session) awaitSlices(ctx context.Context, limit time.Duration, end time.Time, further ...string) error {
	var lagging []string
	err := s.poll(ctx, limit, "the collector's last slices", func(ctx context.Context) (bool, error) {
		var err error
		lagging, err = s.lagging(ctx, end, further)
		return err == nil && len(lagging) == 0, err
	})
	if err != nil && len(lagging) > 0 {
		return fmt.Errorf("%w: %v", err, lagging)
	}
	return err
}

// lagging returns the names of the series whose newest slice ends before end. A series that the report needs also lags
// if it does not exist. Series of the further selectors need not exist.
func (s *Session) lagging(ctx context.Context, end time.Time, further []string) ([]string, error) {
	var lagging []string
	needed := []string{s.selector(cpuMetric), s.selector(heapMetric), s.selector(queriesMetric, joinBolt),
		s.selector(latencyMetric)}
	for i, selector := range append(slices.Clone(needed), further...) {
		newest, err := s.ports.Slices.Newest(ctx, selector, time.Now())
		if err != nil {
			return nil, err
		}
		for _, series := range newest {
			if series.EndMs < end.UnixMilli() {
				lagging = append(lagging, fmt.Sprintf("%s of %s%s", selector, series.Labels["worker"],
					series.Labels["task"]))
			}
		}
		if len(newest) == 0 && i < len(needed) {
			lagging = append(lagging, selector)
		}
	}
	slices.Sort(lagging)
	return slices.Compact(lagging), nil
}
