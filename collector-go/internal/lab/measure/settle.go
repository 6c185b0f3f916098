package measure

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// awaitSlices waits until every series that the report is made of has its slice that ends at end, and so those of
// further selectors that have any. The error names the series that lag, since one worker may have died while the others
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

// lagging names the series whose newest slice ends before end. A series that the report needs and that does not exist
// at all lags too. One of the further selectors may be missing for good.
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
