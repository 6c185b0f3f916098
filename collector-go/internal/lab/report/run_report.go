package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Results are the analyses of all trials of a run together, which tuning computed. Only those that the run's analysis
// asks for are set; the others are missing in report.json. They are computed once, when the run is opened. The
// document, the CSV files and the summary on the terminal therefore state the same numbers.
type Results struct {
	Queries *tuning.Queries `json:"queries,omitempty"`
	Data    *tuning.Data    `json:"data,omitempty"`
	// Concurrency has an analysis for each configuration, in the order of the rows.
	Concurrency []NamedConcurrency `json:"concurrency,omitempty"`
	// Costs are the same analyses for a run about queries per core, whose steps are judged by their latency.
	Costs     []NamedConcurrency `json:"costs,omitempty"`
	Timelines []NamedTimeline    `json:"timelines,omitempty"`
	// Sizing is the configuration for the largest load that the run held.
	Sizing *RunSizing `json:"sizing,omitempty"`
	// Repeats say how much the launches of a configuration differ, if it had several.
	Repeats []Repeated `json:"repeats,omitempty"`

	tables Tables
	// mostRecords is the highest record rate that was held, in records/s. mostRecordsBy is the label of the
	// configuration that held it.
	mostRecords   float64
	mostRecordsBy string
	notes         []string
}

// note adds a note unless it is empty or already there. Several configurations often have the same reason.
func (j *Results) note(text string) {
	if text != "" && !slices.Contains(j.notes, text) {
		j.notes = append(j.notes, text)
	}
}

// NamedConcurrency is the analysis of one configuration's steps. The rows from which it was computed are kept for the
// CSV file, so that tune analyze gets the same result from the file.
type NamedConcurrency struct {
	Label string `json:"label"`
	*tuning.Concurrency

	Rows []tuning.ConcurrencyRow `json:"-"`
}

// Tolerance returns the share of the expected records that may be missing on average, by the two result sizes. It is at
// least 0, also if rounding would make it negative.
func (c NamedConcurrency) Tolerance() float64 {
	return max(0, 1-float64(c.SmallestResultSize/c.ExpectedResultSize))
}

// NamedTimeline is the timeline of one trial: how long a record took from stage to stage.
type NamedTimeline struct {
	Label string `json:"label"`
	*tuning.Timeline

	configuration int
}

// RunSizing is the configuration for the largest load that a run held, from this run alone. A run varies either records
// or queries, so it cannot size for both. Command says how to do so with two runs.
type RunSizing struct {
	// Sizing is null if the run held no load. Note is then the reason.
	Sizing *tuning.Sizing `json:"sizing"`
	Note   string         `json:"note,omitempty"`
	// Load describes the load in a sentence.
	Load string `json:"load,omitempty"`
	// YAML has Bullet's settings, each parallelism with its interval.
	YAML string `json:"yaml,omitempty"`
	// NotKnown lists what a run of this kind cannot show. Command sizes for any load together with a run of the other
	// kind.
	NotKnown []string `json:"not_known"`
	Command  string   `json:"command"`
}

// Repeated is one configuration at one value of the axis, over its repeats. It exists only for values that several
// launches measured, because a single launch shows nothing about the variation between launches.
type Repeated struct {
	Configuration string           `json:"configuration"`
	Value         float64          `json:"value"`
	Verdicts      []tuning.Verdict `json:"verdicts"` // one for each repeat
	Figures       []RepeatedFigure `json:"figures"`
}

// RepeatedFigure is one figure of a Repeated with its spread. A figure that is unknown in every launch is left out.
type RepeatedFigure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Spread
}

// ComparedConfiguration is one configuration of a run compared with the first one. It contains the same comparison that
// tune compare makes for two runs, so that both state the same.
type ComparedConfiguration struct {
	compare.ConfigurationChange
	Notes []string `json:"notes"`
}

// Tables are a run's figures in the form that tune analyze and tune size take. The report is computed from them, and
// the CSV files contain them. Tables that the run's analysis does not have are empty. A sizing from several runs uses
// them.
type Tables struct {
	// Points are filter bolts by queries with the verdicts of the steps. RecordsPerS is the mean record rate of the
	// steps that held.
	Points      []tuning.QueryPoint
	RecordsPerS Figure
	// QueryGoals are the goals by which the points were judged.
	QueryGoals tuning.QueryGoals
	// Volumes are, for each rate, the components of the smallest configuration that held it.
	Volumes []tuning.DataRow
	// Concurrency has the steps of each configuration, with the goals by which they were judged. Without the goals, a
	// later analysis of the file would judge completeness by other limits.
	Concurrency []NamedConcurrency
	// Notes say what a reader must know about the tables.
	Notes []string
}

// RunReport is the report of a run directory: the results of its trials, and what follows from all of them together. It
// is also report.json, so its JSON keys are a public format; some keys are older than the names of the fields. Lists
// without omitempty are never nil, because readers of the JSON expect [] and not null.
type RunReport struct {
	Title      string            `json:"title"`
	Experiment string            `json:"experiment"`
	Test       int               `json:"test,omitempty"`
	Analysis   runstore.Analysis `json:"analysis"`
	Axis       runstore.Axis     `json:"axis"`
	About      string            `json:"about,omitempty"`
	// Verdict is inconclusive until the run has ended by itself. Finished says whether it has.
	Verdict   tuning.Verdict `json:"verdict"`
	Finished  bool           `json:"finished"`
	StartedMs int64          `json:"started_ms"`
	Goals     []tuning.Goal  `json:"goals"`
	Rows      []RowReport    `json:"rows"`
	Trials    []*TrialReport `json:"trials"`
	Results   Results        `json:"judged"`
	// Compared compares each configuration with the first one.
	Compared []ComparedConfiguration `json:"compared,omitempty"`
	Manifest runstore.Manifest       `json:"manifest"`
	Load     string                  `json:"load"`
	Notes    []string                `json:"notes"`
	Caveats  []string                `json:"caveats"`
	Volume   VolumeReport            `json:"data_volume"`

	plan         runstore.Plan
	mibEstimated bool   // whether MiB/s of any step is an estimate
	unanswered   string // why the run cannot answer its question, or ""
}

// RowReport is one configuration over all its launches, with its judgement (runstore.Run.Judge).
type RowReport struct {
	Configuration int                   `json:"configuration"`
	Label         string                `json:"label"`
	Point         []runstore.Coordinate `json:"point"`
	Launches      int                   `json:"launches"`
	tuning.RunJudgement
	// Repeats are the capacities of the single trials, in their order.
	Repeats []tuning.Interval `json:"capacity_of_each_repeat"`
}

// TrialReport is one launch of the topology in one configuration, or several launches if the run was resumed. It keeps
// the stored figures, because a comparison computes the variation of a figure from the stored slices. These may be
// narrower than the slices of the report.
type TrialReport struct {
	Number        int                   `json:"number"`
	Label         string                `json:"label"`
	Configuration int                   `json:"configuration"`
	Repeat        int                   `json:"repeat"`
	Point         []runstore.Coordinate `json:"point"`
	Settings      []runstore.Entry      `json:"settings"`
	// Changes are the differences from the trial that was measured before this one.
	Changes []tuning.Change `json:"changed_since_the_trial_before"`
	// Arguments are all settings that the launch added to the Bullet YAML. Launched is its command line; it is "" on
	// the local cluster.
	Arguments []runstore.Entry `json:"arguments"`
	Launched  string           `json:"launched,omitempty"`
	// Reported is what the topology reported about itself. It is null if it reported nothing.
	Reported *runstore.ReportedConfig `json:"told"`
	State    runstore.TrialState      `json:"state"`
	Error    string                   `json:"error,omitempty"`
	Launches int                      `json:"launches"`
	Steps    []TrialStep              `json:"steps"`
	// Report has the figures and tables. It is null if no step was measured.
	Report *Report `json:"report"`

	result  runstore.TrialResult
	dir     string
	figures *runstore.Figures // the stored figures; nil if none were stored
	values  map[string]string // the values that are compared with those of other trials
}

// TrialStep is a judged step with the name that all tables and figures use. Steps include earlier attempts that were
// repeated; lastAttempts leaves these out.
type TrialStep struct {
	runstore.Step
	Name string `json:"name"`
}

// VolumeReport has the mean records/s and MiB/s over the measured time, for the whole test and for each configuration
// in the order of the rows.
type VolumeReport struct {
	runstore.DataVolume
	Configurations []runstore.DataVolume `json:"configurations"`
}

// Plan returns the plan of the run.
func (r *RunReport) Plan() runstore.Plan { return r.plan }

// axis returns the name of the quantity that increases over the steps.
func (r *RunReport) axis() string { return axisNames[r.plan.Axis] }

// host returns the name of the machine whose idle share was measured: the one on which everything ran, or only the host
// of the load. Every heading uses it, because a reader could otherwise take the host of the load for a worker host.
func (r *RunReport) host() string {
	if hostOfRun(r.plan) {
		return theRunHost
	}
	return theHost
}

// Class returns the class of the run's queries.
func (r *RunReport) Class() string { return r.plan.Load.Class }

// Verdicts counts the measured steps by the combined verdict of their attempts. A step counts once, however many
// attempts it had.
func (r *RunReport) Verdicts() map[tuning.Verdict]int {
	counts := map[tuning.Verdict]int{}
	for _, t := range r.Trials {
		for _, s := range t.lastAttempts() {
			counts[tuning.Combined(t.verdictsAt(s))]++
		}
	}
	return counts
}

// VerdictCounts lists how often each verdict occurred, for example "2 OK" and "1 FAIL".
func VerdictCounts(counts map[tuning.Verdict]int) (texts []string) {
	for _, v := range []tuning.Verdict{tuning.OK, tuning.Fail, tuning.Limited, tuning.Inconclusive} {
		if n := counts[v]; n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return texts
}

// row returns the row of a configuration, which must be one of the run.
func (r *RunReport) row(configuration int) RowReport {
	return r.Rows[slices.IndexFunc(r.Rows, func(row RowReport) bool { return row.Configuration == configuration })]
}

// setting returns a setting of the trial, or of the run if the trial does not set it.
func (r *RunReport) setting(t *TrialReport, key string) string {
	return runstore.Mapped(slices.Concat(r.Manifest.BulletSettings, t.Settings))[key]
}

// name returns the label of the trial. It contains the number of the repeat if there are several.
func (t *TrialReport) name() string {
	if t.Repeat > 1 {
		return fmt.Sprintf("%s (repeat %d)", t.Label, t.Repeat)
	}
	return t.Label
}

// lastAttempts returns the steps in their order, without those that were measured again later in the trial.
func (t *TrialReport) lastAttempts() []TrialStep { return t.chosen(tuning.LastAttempts) }

// explained returns the attempts whose reasons the report states (tuning.Explained).
func (t *TrialReport) explained() []TrialStep { return t.chosen(tuning.Explained) }

func (t *TrialReport) chosen(by func([]tuning.RunStep) []int) []TrialStep {
	return tuning.Each(by(runstore.RunSteps(t.measuredSteps())), func(i int) TrialStep { return t.Steps[i] })
}

// measuredSteps returns the steps in the order in which they ran.
func (t *TrialReport) measuredSteps() []runstore.Step {
	return tuning.Each(t.Steps, func(s TrialStep) runstore.Step { return s.Step })
}

// attempts returns all attempts at a step, in their order.
func (t *TrialReport) attempts(place TrialStep) []TrialStep {
	return tuning.Those(t.Steps, func(s TrialStep) bool { return s.Kind == place.Kind && s.Value == place.Value })
}

// verdictsAt returns the verdicts of all attempts at a step. tuning.Combined makes them one.
func (t *TrialReport) verdictsAt(place TrialStep) []tuning.Verdict {
	return tuning.Each(t.attempts(place), func(s TrialStep) tuning.Verdict { return s.Verdict })
}

// okAt returns the attempts at a step that were OK.
func (t *TrialReport) okAt(place TrialStep) []TrialStep {
	return tuning.Those(t.attempts(place), func(s TrialStep) bool { return s.Verdict == tuning.OK })
}

// verdictText returns the verdict of a step. It mentions an OK attempt beside a FAIL. The step as a whole is then
// inconclusive, and a bare FAIL would look like a mistake.
func (t *TrialReport) verdictText(s TrialStep) string {
	if s.Verdict == tuning.Fail && len(t.okAt(s)) > 0 {
		return "FAIL; another attempt was OK"
	}
	return string(s.Verdict)
}

// why returns the reasons of a step, and its limiter unless the reasons contain it already.
func (s TrialStep) why() []string {
	why := append([]string{}, s.Reasons...)
	if s.Limitation == nil && s.Verdict != tuning.Inconclusive {
		why = append(why, "limiter unknown: no evidence was gathered")
	}
	if s.Limitation != nil && !strings.Contains(strings.Join(why, "; "), s.Limitation.Text) {
		why = append(why, s.Limitation.Text)
	}
	return why
}

// limited reports whether the limiter of the step is known.
func (s TrialStep) limited() bool { return s.Limitation != nil && s.Limitation.Known() }

// trialsOf returns the launches of a configuration.
func (r *RunReport) trialsOf(configuration int) []*TrialReport {
	return tuning.Those(r.Trials, func(t *TrialReport) bool { return t.Configuration == configuration })
}

// reported returns the trials with at least one measured step. Only these have figures, so all tables of trials use
// them.
func (r *RunReport) reported() []*TrialReport {
	return tuning.Those(r.Trials, func(t *TrialReport) bool { return t.Report != nil })
}

// latencyLimit returns the limit of the goal for the filter latency, in ms. Without such a goal it is the limit of
// Bullet's tuning document.
func (r *RunReport) latencyLimit() float64 {
	limits := func(g tuning.Goal) bool { return g.Figure == tuning.FilterLatency && g.AtMost.Known() }
	if g, found := tuning.First(r.Goals, limits); found {
		return float64(g.AtMost)
	}
	return tuning.DefaultGoals().FilterLatencyLimitMs
}

// queryGoals returns the goals by which a grid of queries is judged.
func (r *RunReport) queryGoals() tuning.QueryGoals {
	return tuning.QueryGoals{
		LimitMs: r.latencyLimit(), Headroom: tuning.DefaultHeadroom, Confidence: tuning.DefaultConfidence,
	}
}
