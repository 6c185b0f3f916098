package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// detail adds to a step the figures that no goal needs: the latency hook's percentiles of the filter latency, and the
// sharing of workers and hosts. If they cannot be read, the step gets a note and does not fail, because the verdict
// does not depend on them.
func (s *Session) detail(step *runstore.Step) {
	if err := addDetail(s.ctx, s.ports.Slices, s.ports.Calculator, s.o.Topology, step); err != nil &&
		s.ctx.Err() == nil {
		step.Notes = append(step.Notes, fmt.Sprintf("further details of the step could not be read: %v", err))
	}
}

// addDetail is detail without the session; it needs only the collector.
func addDetail(ctx context.Context, collector Slices, calculator Calculator, topology string, step *runstore.Step,
) error {
	from, to := time.UnixMilli(step.MeasuredFromMs), time.UnixMilli(step.EndMs)
	shared, err := GatherSharing(ctx, collector, topology, from, to)
	if err != nil {
		return err
	}
	step.Sharing = shared
	if calculator != nil {
		step.FilterLatency, err = hookPercentiles(ctx, calculator, topology, from, to)
	}
	return err
}

// hookPercentiles returns the percentiles over the records that the latency hook measured in (from, to]. It returns
// nil if the hook measured none.
func hookPercentiles(ctx context.Context, calculator Calculator, topology string, from,
	to time.Time) (*runstore.Percentiles, error) {
	p := &runstore.Percentiles{}
	measured := fmt.Sprintf("sum(increase(%s[%dms]))", selector(topology, latencyHistogram),
		to.Sub(from).Milliseconds())
	for _, part := range []struct {
		into       *tuning.Figure
		expression string
	}{
		{&p.Records, "histogram_count(" + measured + ")"},
		{&p.P50Ms, "1000 * histogram_quantile(0.5, " + measured + ")"},
		{&p.P95Ms, "1000 * histogram_quantile(0.95, " + measured + ")"},
		{&p.P99Ms, "1000 * histogram_quantile(0.99, " + measured + ")"},
	} {
		v, err := calculator.Calculate(ctx, part.expression, to)
		if err != nil {
			return nil, fmt.Errorf("percentiles of the filter latency: %w", err)
		}
		*part.into = v
	}
	if !(p.Records > 0) || !p.P99Ms.Known() {
		return nil, nil
	}
	for _, share := range runstore.SpectrumShares {
		v, err := calculator.Calculate(ctx, fmt.Sprintf("1000 * histogram_quantile(%g, %s)", share, measured), to)
		if err != nil {
			return nil, fmt.Errorf("percentiles of the filter latency: %w", err)
		}
		p.Spectrum = append(p.Spectrum, v)
	}
	return p, nil
}
