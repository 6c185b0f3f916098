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
	var err error
	measured := fmt.Sprintf("sum(increase(%s[%dms]))", selector(topology, latencyHistogram), to.Sub(from).Milliseconds())
	calculate := func(expression string) (v tuning.Figure) {
		if err == nil {
			v, err = calculator.Calculate(ctx, expression, to)
		}
		return v
	}
	quantile := func(q float64) tuning.Figure {
		return calculate(fmt.Sprintf("1000 * histogram_quantile(%g, %s)", q, measured))
	}
	p := &runstore.Percentiles{Records: calculate("histogram_count(" + measured + ")"), P50Ms: quantile(0.5),
		P95Ms: quantile(0.95), P99Ms: quantile(0.99)}
	if err == nil && (!(p.Records > 0) || !p.P99Ms.Known()) {
		return nil, nil
	}
	for _, share := range runstore.SpectrumShares {
		p.Spectrum = append(p.Spectrum, quantile(share))
	}
	if err != nil {
		return nil, fmt.Errorf("percentiles of the filter latency: %w", err)
	}
	return p, nil
}
