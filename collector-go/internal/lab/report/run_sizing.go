package report

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// sizing is that of a run of data volumes or of queries; nil for others.
func (r *RunReport) sizing(j *Judged) *RunSizing {
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

// demand is the load, judged as the run's analysis judges.
func (r *RunReport) demand(recordsPerS Figure, queries int) tuning.Demand {
	return tuning.Demand{
		RecordsPerS: float64(recordsPerS), Queries: queries, Goals: r.queryGoals(), Machine: r.machine(),
		QueryTestRecordsPerS: Unknown, Class: r.Class(),
	}
}

// sizeData sizes for the most records that were held, with the queries that ran beside them.
func (r *RunReport) sizeData(j *Judged) (*RunSizing, error) {
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
	demand := r.demand(Figure(most.RecordsPerS), queries)
	if s.Sizing, err = tuning.Size(demand, tuning.Measurements{Volumes: volumes}); err != nil {
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
func (r *RunReport) sizeQueries(j *Judged) (*RunSizing, error) {
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
	demand := r.demand(rate, int(math.Floor((1-goals.Headroom)*most+1e-9)))
	demand.QueryTestRecordsPerS = rate
	var err error
	if s.Sizing, err = tuning.Size(demand, tuning.Measurements{
		Points: j.tables.Points, Others: r.componentsWith(largest), OthersFrom: "this run",
	}); err != nil {
		return s, err
	}
	s.Load = fmt.Sprintf(
		"For %d queries at %s records/s: %s less than the most that this run held, %.0f with %s.",
		demand.Queries, tuning.Digits(rate), tuning.Percent(Figure(goals.Headroom)), most, tuning.Counted(by, "filter bolt"))
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
	s := r.Judged.Sizing
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
