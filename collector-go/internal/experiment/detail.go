package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
)

// Detail adds to each of a run's steps what only the whole trial's report shows: the hook's percentiles of the filter latency, and who shared
// what. topologies are the names under which the steps' launches ran. What could not be read is noted in the run.
func (s *Session) Detail(run *report.Run, topologies map[int]string) error {
	var problems []error
	for i := range run.Steps {
		step := &run.Steps[i]
		problems = append(problems, detail(s.ctx, s.ports.Slices, s.ports.Calculator, topologies[step.Launch], step))
	}
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if err := errors.Join(problems...); err != nil {
		run.Notes = append(run.Notes, fmt.Sprintf("What is told beside the figures of some steps is missing: %v", err))
	}
	return nil
}

func detail(ctx context.Context, collector Slices, calculator Calculator, topology string, step *report.Step) error {
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

// hookPercentiles are those of the records that the latency hook measured in (from, to]; nil where it measured none.
func hookPercentiles(ctx context.Context, calculator Calculator, topology string, from, to time.Time) (*report.Percentiles, error) {
	p := &report.Percentiles{}
	measured := fmt.Sprintf("sum(increase(%s[%dms]))", Options{Topology: topology}.selector(latencyHistogram), to.Sub(from).Milliseconds())
	for _, part := range []struct {
		into       *report.Figure
		expression string
	}{
		{&p.Records, "histogram_count(" + measured + ")"}, {&p.P50Ms, "1000 * histogram_quantile(0.5, " + measured + ")"},
		{&p.P95Ms, "1000 * histogram_quantile(0.95, " + measured + ")"}, {&p.P99Ms, "1000 * histogram_quantile(0.99, " + measured + ")"},
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
	return p, nil
}
