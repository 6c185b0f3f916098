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

// sizing returns the configuration for the largest load that a run of data volumes or of queries held, or nil for other
// runs. If the run cannot be sized, the reason becomes a note and not an error, because the rest of the report is not
// affected.
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
		s.Sizing.Notes = append(s.Sizing.Notes, "the machines are assumed to be like the one that started the run; to size for others, run tune size with --cores-per-machine and --memory-per-machine-mib")
	}
	s.YAML = s.Sizing.YAML()
	return s
}

// targetLoad returns the load to size for. Goals and machine are those of the run, so that the sizing uses the same
// criteria as the steps.
func (r *RunReport) targetLoad(recordsPerS Figure, queries int) tuning.TargetLoad {
	return tuning.TargetLoad{
		RecordsPerS: float64(recordsPerS), Queries: queries, Goals: r.queryGoals(), Machine: r.machine(),
		QueryTestRecordsPerS: Unknown, Class: r.Class(),
	}
}

// sizeCommand returns the command that sizes for any load with this run and one of the other kind. The user must
// replace the placeholders.
func (r *RunReport) sizeCommand(from string) string {
	return fmt.Sprintf("bullet-metrics tune size --records-per-s RECORDS --queries QUERIES --limit %sms --from %s",
		tuning.Digits(Figure(r.latencyLimit())), from)
}

// sizeData sizes for the most records that were held, with the queries that ran beside them. The run varied only the
// records, so it says nothing about more queries.
func (r *RunReport) sizeData(j *Results) (*RunSizing, error) {
	volumes, queries := j.tables.Volumes, r.plan.Load.Queries
	s := &RunSizing{Command: r.sizeCommand("THIS-RUN,RUN-OF-TEST-7"), NotKnown: []string{
		fmt.Sprintf("The number of queries that it holds: every step ran %d queries, and no other number was measured.",
			queries),
		"The filter bolts that more queries need.",
	}}
	if len(volumes) == 0 {
		return s, errors.New("no configuration held any of its records/s")
	}
	most := volumes[len(volumes)-1] // they are sorted
	var err error
	targetLoad := r.targetLoad(Figure(most.RecordsPerS), queries)
	if s.Sizing, err = tuning.Size(targetLoad, tuning.Measurements{Volumes: volumes}); err != nil {
		return s, err
	}
	s.Load = fmt.Sprintf("For the highest record rate that this run held, %s records/s (%s MiB/s), with %d queries. %s The settings follow from the fits over all volumes that were held. The configuration that held this one is %q.",
		tuning.Digits(Figure(most.RecordsPerS)),
		tuning.Digits(Figure(most.DataMiBPerS)), queries, r.recordsHeadroom(), j.mostRecordsBy)
	return s, nil
}

// recordsHeadroom says how much headroom the sizing has for records. tune size adds none, because a goal for catching
// up ensures it. Without such a goal the text recommends to plan for fewer records.
func (r *RunReport) recordsHeadroom() string {
	if g, found := tuning.First(r.Goals, func(g tuning.Goal) bool { return g.Figure == tuning.CatchUp }); found {
		return fmt.Sprintf("It also has the headroom that a goal requires: %s.", g)
	}
	return "It has no headroom, because no goal required a catch-up rate: plan for fewer records/s."
}

// sizeQueries sizes for the most queries that were held, less the headroom, at the record rate of the run. The run
// varied only the filter bolts, so all other components stay as they were.
func (r *RunReport) sizeQueries(j *Results) (*RunSizing, error) {
	s := &RunSizing{Command: r.sizeCommand("RUN-OF-TEST-6,THIS-RUN"), NotKnown: []string{
		"The resources for more records/s: all components except the filter bolts are those of this run.",
	}}
	if j.Queries == nil {
		return s, errors.New("in no step are the filter bolts, the cores and the filter latency all known")
	}
	largest, most, by := 0, 0.0, 0
	for _, row := range j.Queries.Rows {
		largest = row.FilterBolts
		if held, _ := row.Capacity.Bounds(0, 0); held > most {
			most, by = held, row.FilterBolts
		}
	}
	rate := j.tables.RecordsPerS
	switch {
	case most == 0:
		return s, errors.New("no configuration held any queries")
	case !(rate > 0):
		return s, errors.New("the record rate of the run is unknown")
	}
	headroom := r.queryGoals().Headroom
	targetLoad := r.targetLoad(rate, int(math.Floor((1-headroom)*most+1e-9)))
	targetLoad.QueryTestRecordsPerS = rate
	measurements := tuning.Measurements{
		Points: j.tables.Points, Others: r.componentsWith(largest), OthersFrom: "this run",
	}
	var err error
	if s.Sizing, err = tuning.Size(targetLoad, measurements); err != nil {
		return s, err
	}
	s.Load = fmt.Sprintf("For %d queries at %s records/s. That is %s less than the largest number that this run held, %.0f with %s.",
		targetLoad.Queries, tuning.Digits(rate), tuning.Percent(Figure(headroom)), most, tuning.Counted(by, "filter bolt"))
	return s, nil
}

// componentsWith returns the components of the first configuration with a number of filter bolts that reported its
// components.
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

// otherRun explains how to make the run that a sizing lacks.
var otherRun = map[runstore.Analysis]string{
	runstore.OfData:    "RUN-OF-TEST-7 is the directory of a run that measures filter bolts by queries (analysis: queries), such as bullet-metrics tune run topology/experiments/test7.yaml",
	runstore.OfQueries: "RUN-OF-TEST-6 is the directory of a run of data volumes (analysis: data), such as bullet-metrics tune run topology/experiments/test6.yaml",
}

// sizingBlocks returns the section about the sizing.
func (r *RunReport) sizingBlocks() []document.Block {
	s := r.Results.Sizing
	if s == nil {
		return nil
	}
	first := document.Paragraph("%s", s.Load)
	if s.Sizing == nil {
		first = document.Paragraph("This run cannot be sized: %s.", strings.TrimSuffix(s.Note, "."))
	}
	return []document.Block{
		first, document.Verbatim(s.YAML), document.Heading("Not known from this run"), document.List(s.NotKnown),
		document.Paragraph("Both runs together size for any load within their measurements, with the uncertainty "+
			"of both. THIS-RUN is the directory of this run; %s.", otherRun[r.Analysis]),
		document.Verbatim(s.Command),
	}
}

// results analyzes all trials together, as the run's analysis asks for. An analysis that fails becomes a note, because
// the trials themselves are still reported.
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
		j.notes = append(j.notes, fmt.Sprintf("the analysis of all trials failed: %v", err))
	}
	j.Sizing = r.sizing(&j)
	return j
}

// timelines returns the timelines of the trials. If a step was repeated, the last attempt counts, as in the rest of the
// report.
func (r *RunReport) timelines() (all []NamedTimeline) {
	for _, t := range r.Trials {
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

// queryPoints returns the points of filter bolts by queries with the verdicts of the steps, to which the capacity over
// cores is fitted. A configuration of unknown size is left out, and a note says so.
func (r *RunReport) queryPoints(j *Results) (points []tuning.QueryPoint) {
	if r.Axis != runstore.Queries {
		j.note("the steps increase in " + r.axis() +
			" and not in simultaneous queries, so they show no capacity over filter bolts")
		return nil
	}
	var rates []Figure
	for _, row := range r.Rows {
		size := r.size(row.Configuration)
		cores, note := size.measuredCores()
		if note != "" && size.note == "" {
			note = row.Label + ": " + note
		}
		j.note(note)
		if size.filterBolts == 0 || !(cores > 0) {
			j.note(row.Label + ": left out of the fit, because its number of filter bolts or cores is unknown")
			continue
		}
		for _, m := range r.measured(row.Configuration) {
			if m.verdict() == tuning.OK {
				rates = append(rates, m.mean(func(s *StepReport) Figure { return s.RecordsPerSecond }))
			}
			if latency := m.mean(func(s *StepReport) Figure { return s.FilterLatencyMeanMs }); latency.Known() {
				points = append(points, tuning.QueryPoint{
					FilterBolts: size.filterBolts, Queries: int(m.value), LatencyMs: float64(latency),
					TopologyCPUCores: cores, TopologyMemoryMiB: size.memoryMiB, UsedCPUCores: m.usedCores(),
					Verdict: m.verdict(),
				})
			}
		}
	}
	j.tables.RecordsPerS = runstore.Average(rates)
	return points
}

// heldVolume is a volume with the smallest configuration that held it. Larger configurations at the same rate say
// nothing about the cores that the rate needs.
type heldVolume struct {
	tuning.DataRow
	configuration int
}

// smaller reports whether a configuration took fewer cores than that of another volume. It compares used cores if both
// are known, else declared cores.
func (v heldVolume) smaller(other heldVolume) bool {
	if v.UsedCPUCores == 0 || other.UsedCPUCores == 0 {
		return v.TotalCPUCores < other.TotalCPUCores
	}
	return v.UsedCPUCores < other.UsedCPUCores
}

// volumes returns, for each rate, the smallest configuration that held it: a row for each of its components, or one row
// without a component if none is known. The rows are sorted by their record rate.
func (r *RunReport) volumes(j *Results) (rows []tuning.DataRow) {
	best := map[float64]heldVolume{}
	for _, row := range r.Rows {
		size := r.size(row.Configuration)
		j.note(size.note)
		if !(size.memoryMiB > 0) {
			size.memoryMiB = Unknown
		}
		for _, m := range r.measured(row.Configuration) {
			records := m.mean(func(s *StepReport) Figure { return s.RecordsPerSecond })
			volume := m.mean(func(s *StepReport) Figure { return s.MiBPerSecond })
			if m.verdict() != tuning.OK || !(size.cores > 0) || !(records > 0) || !(volume > 0) {
				continue
			}
			held := heldVolume{tuning.DataRow{
				DataMiBPerS: float64(volume), RecordsPerS: float64(records), TotalCPUCores: float64(size.cores),
				UsedCPUCores: float64(m.usedCores()), TotalMemoryMiB: float64(size.memoryMiB),
			}, row.Configuration}
			if before, found := best[m.value]; !found || held.smaller(before) {
				best[m.value] = held
			}
		}
	}
	for _, volume := range best {
		if volume.RecordsPerS >= j.mostRecords {
			j.mostRecords, j.mostRecordsBy = volume.RecordsPerS, r.row(volume.configuration).Label
		}
		components := r.components(volume.configuration)
		if len(components) == 0 {
			components = []tuning.Component{{}}
		}
		for _, c := range components {
			volume.Component = c
			rows = append(rows, volume.DataRow)
		}
	}
	slices.SortStableFunc(rows, func(a, b tuning.DataRow) int { return cmp.Compare(a.RecordsPerS, b.RecordsPerS) })
	return rows
}
