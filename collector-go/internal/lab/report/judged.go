package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func (r *RunReport) judged() (j Judged) {
	var err error
	switch r.Analysis {
	case runstore.OfQueries:
		j.tables.Points = r.queryPoints(&j)
		if len(j.tables.Points) > 0 {
			j.Queries, err = tuning.AnalyzeQueries(j.tables.Points, r.queryGoals())
		}
		var cost error
		j.Costs, cost = r.concurrency()
		err = errors.Join(err, cost)
	case runstore.OfData:
		j.tables.Volumes = r.volumes(&j)
		if len(j.tables.Volumes) > 0 {
			j.Data, err = tuning.AnalyzeData(j.tables.Volumes, tuning.DefaultConfidence)
		}
	case runstore.OfConcurrency:
		j.Concurrency, err = r.concurrency()
	case runstore.OfTimeline:
		j.Timelines = r.timelines()
	}
	j.Repeats = r.repeats()
	if err != nil {
		j.notes = append(j.notes, fmt.Sprintf("the trials together could not be judged: %v", err))
	}
	j.Sizing = r.sizing(&j)
	return j
}

// timelines are those of each trial; of a step that was repeated the last one.
func (r *RunReport) timelines() (all []NamedTimeline) {
	for i := range r.Trials {
		t := &r.Trials[i]
		at := map[float64]int{}
		for _, s := range t.Steps {
			if s.Timeline == nil {
				continue
			}
			named := NamedTimeline{t.name(), s.Timeline, t.Configuration}
			if i, before := at[s.Value]; before {
				all[i] = named
				continue
			}
			at[s.Value] = len(all)
			all = append(all, named)
		}
	}
	return all
}

func (r *RunReport) queryPoints(j *Judged) (points []tuning.QueryPoint) {
	if r.Axis != runstore.Queries {
		j.note(
			"the steps are of " + r.axis() + ", not of simultaneous queries: they show no capacity over filter bolts")
		return nil
	}
	var rates []Figure
	for _, row := range r.Rows {
		size := r.size(row.Configuration)
		var note string
		size.cores, note = size.measuredCores()
		if note != "" && size.note == "" {
			note = row.Label + ": " + note
		}
		j.note(note)
		if size.filterBolts == 0 || !(size.cores > 0) {
			j.note(
				fmt.Sprintf("%s: how many filter bolts or cores it had is not known: left out of the fit", row.Label))
			continue
		}
		for _, m := range r.measured(row.Configuration) {
			latency := m.mean(func(s *StepReport) Figure { return s.FilterLatencyMeanMs })
			if m.verdict() == tuning.OK {
				rates = append(rates, m.mean(func(s *StepReport) Figure { return s.RecordsPerSecond }))
			}
			if latency.Known() {
				points = append(points,
					tuning.QueryPoint{FilterBolts: size.filterBolts, Queries: int(m.value), LatencyMs: float64(latency),
						TopologyCPUCores: size.cores, TopologyMemoryMiB: size.memoryMiB, UsedCPUCores: m.usedCores(),
						Verdict: m.verdict()})
			}
		}
	}
	j.tables.RecordsPerS = runstore.Average(rates)
	return points
}

// volumes takes, for each rate, the smallest configuration that held it: a row for each of its components.
func (r *RunReport) volumes(j *Judged) (rows []tuning.DataRow) {
	best := map[float64]tuning.DataRow{}
	configurations := map[float64]int{}
	for _, row := range r.Rows {
		size := r.size(row.Configuration)
		j.note(size.note)
		for _, m := range r.measured(row.Configuration) {
			records, volume := m.mean(func(s *StepReport) Figure { return s.RecordsPerSecond }), m.mean(
				func(s *StepReport) Figure { return s.MiBPerSecond })
			if m.verdict() != tuning.OK || !(size.cores > 0) || !(records > 0) || !(volume > 0) {
				continue
			}
			used := m.usedCores()
			held, found := best[m.value]
			fewer := float64(used) < held.UsedCPUCores
			if used == 0 || held.UsedCPUCores == 0 {
				fewer = float64(size.cores) < held.TotalCPUCores
			}
			if !found || fewer {
				memory := size.memoryMiB
				if !(memory > 0) {
					memory = Unknown
				}
				best[m.value] = tuning.DataRow{
					DataMiBPerS:    float64(volume),
					RecordsPerS:    float64(records),
					TotalCPUCores:  float64(size.cores),
					UsedCPUCores:   float64(used),
					TotalMemoryMiB: float64(memory),
				}
				configurations[m.value] = row.Configuration
			}
		}
	}
	for value, volume := range best {
		if volume.RecordsPerS >= j.mostRecords {
			j.mostRecords, j.mostRecordsBy = volume.RecordsPerS, r.label(configurations[value])
		}
		rows = append(rows, withComponents(volume, r.components(configurations[value]))...)
	}
	slices.SortStableFunc(rows, func(a, b tuning.DataRow) int { return cmp.Compare(a.RecordsPerS, b.RecordsPerS) })
	return rows
}
