package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// sizing is that of a run of data volumes or of queries; nil for others.
func (r *RunReport) sizing(j *Results) *RunSizing {
	var s *RunSizing
	var err error
	switch r.Analysis {
	case runstore.OfData:
		s, err = r.sizeData(j)
	case runstore.OfQueries:
		s, err = r.sizeQueries(j)
	default:
		return nil
	}
	if err != nil {
		s.Note = err.Error()
		return s
	}
	if r.plan.Launch == "command" {
		s.Sizing.Notes = append(s.Sizing.Notes,
			"a machine is taken to be like the one that the run was started on; give tune size others with "+
				"--cores-per-machine and --memory-per-machine-mib")
	}
	s.YAML = s.Sizing.YAML()
	return s
}

// targetLoad is the load, judged as the run's analysis judges.
func (r *RunReport) targetLoad(recordsPerS Figure, queries int) tuning.TargetLoad {
	return tuning.TargetLoad{
		RecordsPerS: float64(recordsPerS), Queries: queries, Goals: r.queryGoals(), Machine: r.machine(),
		QueryTestRecordsPerS: Unknown, Class: r.Class(),
	}
}

// sizeData sizes for the most records that were held, with the queries that ran beside them.
func (r *RunReport) sizeData(j *Results) (*RunSizing, error) {
	volumes, queries := j.tables.Volumes, r.plan.Load.Queries
	s := &RunSizing{NotKnown: []string{
		fmt.Sprintf(
			"How many queries it holds: %d ran beside the records in every step, and no other number was tried.",
			queries),
		"How many filter bolts more queries ask for.",
	}}
	s.Command = fmt.Sprintf(
		"bullet-metrics tune size --records-per-s RECORDS --queries QUERIES --limit %sms --from THIS-RUN,RUN-OF-TEST-7",
		tuning.Digits(Figure(r.latencyLimit())))
	if len(volumes) == 0 {
		return s, errors.New("no configuration held any of its records/s")
	}
	most := volumes[len(volumes)-1] // they ascend
	var err error
	targetLoad := r.targetLoad(Figure(most.RecordsPerS), queries)
	if s.Sizing, err = tuning.Size(targetLoad, tuning.Measurements{Volumes: volumes}); err != nil {
		return s, err
	}
	s.Load = fmt.Sprintf(
		"For the most records that this run held, %s records/s (%s MiB/s), and the %d queries that ran beside them. "+
			"%s The settings are those of the fits over all volumes that were held; "+
			"what held this one was %q.",
		tuning.Digits(Figure(most.RecordsPerS)),
		tuning.Digits(Figure(most.DataMiBPerS)),
		queries,
		r.recordsHeadroom(),
		j.mostRecordsBy,
	)
	return s, nil
}

// recordsHeadroom states what the records have beyond what was held: tune size leaves none free, since a goal about
// catching up asks for it.
func (r *RunReport) recordsHeadroom() string {
	for _, g := range r.Goals {
		if g.Figure == tuning.CatchUp {
			return fmt.Sprintf("Beyond them it has what the goal asks for: %s.", g)
		}
	}
	return "Nothing is left free beyond them, and no goal asked for catching up: plan for fewer records/s."
}

// sizeQueries sizes for the most queries that were held, less the headroom, at the test's record rate.
func (r *RunReport) sizeQueries(j *Results) (*RunSizing, error) {
	s := &RunSizing{NotKnown: []string{
		"What more records/s ask for: all components but the filter bolts are as they were in this run.",
	}}
	s.Command = fmt.Sprintf(
		"bullet-metrics tune size --records-per-s RECORDS --queries QUERIES --limit %sms --from RUN-OF-TEST-6,THIS-RUN",
		tuning.Digits(Figure(r.latencyLimit())))
	if j.Queries == nil {
		return s, errors.New("no step has filter bolts, cores and a filter latency that are known")
	}
	largest, most, by := 0, 0.0, 0
	for _, row := range j.Queries.Rows {
		largest = row.FilterBolts
		if row.Capacity.LastOK != nil && *row.Capacity.LastOK > most {
			most, by = *row.Capacity.LastOK, row.FilterBolts
		}
	}
	rate := j.tables.RecordsPerS
	switch {
	case most == 0:
		return s, errors.New("no configuration held any queries")
	case !(rate > 0):
		return s, errors.New("the records/s of the run are not known")
	}
	goals := r.queryGoals()
	targetLoad := r.targetLoad(rate, int(math.Floor((1-goals.Headroom)*most+1e-9)))
	targetLoad.QueryTestRecordsPerS = rate
	var err error
	if s.Sizing, err = tuning.Size(targetLoad, tuning.Measurements{
		Points: j.tables.Points, Others: r.componentsWith(largest), OthersFrom: "this run",
	}); err != nil {
		return s, err
	}
	s.Load = fmt.Sprintf(
		"For %d queries at %s records/s: %s less than the most that this run held, %.0f with %s.",
		targetLoad.Queries, tuning.Digits(rate), tuning.Percent(Figure(goals.Headroom)), most, tuning.Counted(by, "filter bolt"))
	return s, nil
}

// componentsWith are those of the first configuration with so many filter bolts.
func (r *RunReport) componentsWith(filterBolts int) []tuning.Component {
	for _, row := range r.Rows {
		if r.size(row.Configuration).filterBolts == filterBolts {
			if all := r.components(row.Configuration); len(all) > 0 {
				return all
			}
		}
	}
	return nil
}

// otherRun is how to make the run that a sizing lacks.
var otherRun = map[runstore.Analysis]string{
	runstore.OfData: "RUN-OF-TEST-7 is the directory of a run that puts filter bolts against queries (analysis: " +
		"queries), as bullet-metrics tune run topology/experiments/test7.yaml does",
	runstore.OfQueries: "RUN-OF-TEST-6 is the directory of a run that finds what records/s take (analysis: data), as " +
		"bullet-metrics tune run topology/experiments/test6.yaml does",
}

// sizingBlocks are the section of the report.
func (r *RunReport) sizingBlocks() []document.Block {
	s := r.Results.Sizing
	if s == nil {
		return nil
	}
	first := document.Paragraph("%s", s.Load)
	if s.Sizing == nil {
		first = document.Paragraph("No configuration follows from this run: %s.", strings.TrimSuffix(s.Note, "."))
	}
	return []document.Block{
		first, document.Verbatim(s.YAML), document.Heading("What this run leaves open"), document.List(s.NotKnown),
		document.Paragraph(
			"The two runs together size for any load within what they measured, with both their uncertainties. "+
				"THIS-RUN is this run's directory; %s.",
			otherRun[r.Analysis],
		),
		document.Verbatim(s.Command),
	}
}

func (r *RunReport) results() (j Results) {
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

func (r *RunReport) queryPoints(j *Results) (points []tuning.QueryPoint) {
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
func (r *RunReport) volumes(j *Results) (rows []tuning.DataRow) {
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
