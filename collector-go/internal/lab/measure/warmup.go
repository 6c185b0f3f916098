package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// leastStartUp is how long a topology that was just launched is left to itself at least: that of runs whose plan does
// not say.
const leastStartUp = 10 * time.Second

// warmUp holds the plan's start-up queries on a topology that was just launched until what a record costs has come to
// rest, or for the plan's longest start-up, and lets them end: workers that have just started compile what they run,
// what only queries have them do too, and cost less from slice to slice. Who is to be looked at is found out here,
// since that takes its time and must not fall between two looks.
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
			s.ports.Progress.Say("the topology came to rest after %s of warm-up", time.Since(began).Round(time.Second))
			return nil
		}
		next := nextSlice(time.Now().Add(time.Millisecond), s.width)
		if s.until(ctx, next, func() string { return "letting the workers warm up" }) == nil {
			continue
		}
		if s.ctx.Err() == nil {
			note := fmt.Sprintf("the start-up of the launch ended after %s, before the CPU that a record costs was seen to be "+
				"steady: workers may still have been compiling", limit.Round(time.Second))
			s.ports.Progress.Say("%s", note)
			s.notes = append(s.notes, note)
		}
		return context.Cause(s.ctx)
	}
}

// startUp is how long the warm-up may take.
func (s *Session) startUp(began time.Time) time.Duration {
	limit := max(leastStartUp, milliseconds(s.o.Plan.StartUpMs))
	if by := s.o.FirstStepBy; !by.IsZero() {
		left := by.Sub(began)
		if s.o.Plan.StartUpQueries > 0 {
			left -= milliseconds(s.o.Plan.Load.QueryDurationMs) // until they have ended
		}
		limit = min(limit, max(leastStartUp, left/2))
	}
	return limit
}

// recordCosts are the CPU seconds of all workers for a record, in each of their slices since a moment; unknown where
// nobody knows of records.
func (s *Session) recordCosts(ctx context.Context, since time.Time) (costs []tuning.Figure, err error) {
	read := s.reader(ctx, since, time.Now())
	workers := read.read(cpuMetric)
	sources, _ := read.records()
	return costsOf(sum(workers), sum(sources)), read.err
}

// costsOf is what a total of CPU rose by in each slice, over what a total of records did; of slices as far as both are
// in.
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
