package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// leastStartUp is the minimum warm-up limit for a topology that was just launched. It applies to runs whose plan does
// not set one.
const leastStartUp = 10 * time.Second

// warmUp applies the plan's start-up queries to a topology that was just launched. It ends when the CPU cost per
// record is steady or the plan's longest start-up has passed, and waits for the queries to end. New workers compile
// the code that they run, including code that only queries use, so that the cost falls from slice to slice. It also
// looks up the processes once, because that takes time and must not fall between two looks.
func (s *Session) warmUp() error {
	s.warm = true
	s.ports.Processes()
	if s.o.Plan.StartUpQueries > 0 {
		s.asker.Hold(s.o.Plan.StartUpQueries, time.Now().Add(s.asker.Lead()), 0)
		defer s.finishQueries()
	}
	defer func() { s.loaded = time.Now() }()
	began := time.Now()
	limit := s.startUp(began)
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	for {
		costs, err := s.recordCosts(s.ctx, began)
		if err == nil && tuning.Steady(costs) {
			s.ports.Progress.Say("the topology was steady after %s of warm-up", time.Since(began).Round(time.Second))
			return nil
		}
		next := nextSlice(time.Now().Add(time.Millisecond), s.width)
		if s.until(ctx, next, func() string { return "warming up the workers" }) == nil {
			continue
		}
		if s.ctx.Err() == nil {
			note := fmt.Sprintf("the warm-up of the launch ended after %s, before the CPU per record was "+
				"steady; workers may still have been compiling", limit.Round(time.Second))
			s.ports.Progress.Say("%s", note)
			s.notes = append(s.notes, note)
		}
		return context.Cause(s.ctx)
	}
}

// startUp returns the limit for the duration of the warm-up.
func (s *Session) startUp(began time.Time) time.Duration {
	limit := max(leastStartUp, load.DurationOf(s.o.Plan.StartUpMs))
	if by := s.o.FirstStepBy; !by.IsZero() {
		left := by.Sub(began)
		if s.o.Plan.StartUpQueries > 0 {
			left -= load.DurationOf(s.o.Plan.Load.QueryDurationMs) // time for the queries to end
		}
		limit = min(limit, max(leastStartUp, left/2))
	}
	return limit
}

// recordCosts returns the CPU seconds of all workers per record, for each slice since a moment. Costs are unknown if
// nobody reports records.
func (s *Session) recordCosts(ctx context.Context, since time.Time) (costs []tuning.Figure, err error) {
	read := s.reader(ctx, since, time.Now())
	workers := read.read(cpuMetric)
	sources, _ := read.records()
	return costsOf(sum(workers), sum(sources)), read.err
}

// costsOf divides the increase of the CPU total by the increase of the record total, slice by slice. It ends at the
// last slice that has records.
func costsOf(cpu, records runstore.Slices) (costs []tuning.Figure) {
	last := int64(0)
	if n := len(records.TimesMs); n > 0 {
		last = records.TimesMs[n-1]
	}
	for i := 1; i < len(cpu.TimesMs) && cpu.TimesMs[i] <= last; i++ {
		taken := records.ValueAt(cpu.TimesMs[i]) - records.ValueAt(cpu.TimesMs[i-1])
		costs = append(costs, (cpu.Values[i]-cpu.Values[i-1])/taken)
	}
	return costs
}
