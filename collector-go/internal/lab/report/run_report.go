package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Results is what follows from all trials of a run together: the analyses that tuning computed. Only what the run's
// analysis asks for is set, and the rest is null in report.json. It is computed once, when the run is opened, so that
// the document, the CSV files and the summary on the terminal state the same numbers.
type Results struct {
	Queries *tuning.Queries `json:"queries,omitempty"`
	Data    *tuning.Data    `json:"data,omitempty"`
	// Concurrency is of one configuration each, in the rows' order.
	Concurrency []NamedConcurrency `json:"concurrency,omitempty"`
	// Costs are the same of a run about queries per core, whose steps are judged by their latency.
	Costs     []NamedConcurrency `json:"costs,omitempty"`
	Timelines []NamedTimeline    `json:"timelines,omitempty"`
	// Sizing is the configuration for the largest load that the run held.
	Sizing *RunSizing `json:"sizing,omitempty"`
	// Repeats are how far the launches of one configuration are apart, where it had several.
	Repeats []Repeated `json:"repeats,omitempty"`

	tables Tables
	// mostRecordsBy is the label of the configuration that held mostRecords a second.
	mostRecords   float64
	mostRecordsBy string
	notes         []string
}

// note adds a note, once. Several configurations often have the same reason, and a reader needs it only once.
func (j *Results) note(text string) {
	if text != "" && !slices.Contains(j.notes, text) {
		j.notes = append(j.notes, text)
	}
}

// NamedConcurrency is the judgement of one configuration's steps. The rows that it was computed from are kept for the
// CSV file, so that tune analyze comes to the same result from the file.
type NamedConcurrency struct {
	Label string `json:"label"`
	*tuning.Concurrency

	rows []tuning.ConcurrencyRow
}

// NamedTimeline is the timeline of one trial: how long a record took from stage to stage.
type NamedTimeline struct {
	Label string `json:"label"`
	*tuning.Timeline

	configuration int
}

// RunSizing is the configuration for the largest load that a run held, from that run alone. A run varies either records
// or queries, so it cannot size for both; the command says how two runs together do.
type RunSizing struct {
	// Sizing is null, and Note is why, where the run held no load.
	Sizing *tuning.Sizing `json:"sizing"`
	Note   string         `json:"note,omitempty"`
	// Load is the load in a sentence.
	Load string `json:"load,omitempty"`
	// YAML are Bullet's settings, each parallelism with its interval.
	YAML string `json:"yaml,omitempty"`
	// NotKnown is what a run of this kind cannot show; Command sizes for any load, with a run of the other kind.
	NotKnown []string `json:"not_known"`
	Command  string   `json:"command"`
}

// Repeated is one configuration at one place of the axis, over its repeats. Only places that more than one launch
// measured have one, since a single launch shows nothing about the variation between launches.
type Repeated struct {
	Configuration string           `json:"configuration"`
	Value         float64          `json:"value"`
	Verdicts      []tuning.Verdict `json:"verdicts"` // of each repeat
	Figures       []RepeatedFigure `json:"figures"`
}

// RepeatedFigure is one figure of such a place with its spread. A figure that no launch knows is left out.
type RepeatedFigure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Spread
}

// ComparedConfiguration is one configuration of a run against its first one. It is the change that tune compare
// computes for two runs, so that both state the same.
type ComparedConfiguration struct {
	compare.ConfigurationChange
	Notes []string `json:"notes"`
}

// Tables are a run's figures as tune analyze and tune size take them: what its report is judged from and what its CSV
// files hold. Those that the run's analysis has not are empty. A sizing from several runs goes by them.
type Tables struct {
	// Points are filter bolts by queries, with the steps' verdicts; RecordsPerS is the records a second of those that
	// held, averaged.
	Points      []tuning.QueryPoint
	RecordsPerS Figure
	// QueryGoals are what the points were judged by.
	QueryGoals tuning.QueryGoals
	// Volumes are, for each rate, the components of the smallest configuration that held it.
	Volumes []tuning.DataRow
	// Concurrency are the steps of each configuration.
	Concurrency []ConfigurationSteps
	// Notes are what must be known of them.
	Notes []string
}

// ConfigurationSteps are one configuration's steps of simultaneous queries, with the goals that they were judged by.
// The goals belong to the steps: without them a later analysis of the file would judge completeness by other limits.
type ConfigurationSteps struct {
	Label string
	Rows  []tuning.ConcurrencyRow
	// ExpectedResultSize is the records of a complete answer, Tolerance the share of them that may be missing on
	// average.
	ExpectedResultSize, Tolerance float64
}

// table gives the steps back as they were analyzed. The tolerance follows from the two result sizes, and rounding must
// not make it negative.
func (c NamedConcurrency) table() ConfigurationSteps {
	return ConfigurationSteps{
		Label: c.Label, Rows: c.rows, ExpectedResultSize: float64(c.ExpectedResultSize),
		Tolerance: max(0, 1-float64(c.SmallestResultSize/c.ExpectedResultSize)),
	}
}

// RunReport is the report of a run's directory: what its trials came to, and what follows from all of them together. It
// is also report.json, so its JSON keys are a format; some of them are older than the names of the fields. Lists that
// are always there are never nil, because readers of the JSON expect [] and not null.
type RunReport struct {
	Title      string            `json:"title"`
	Experiment string            `json:"experiment"`
	Test       int               `json:"test,omitempty"`
	Analysis   runstore.Analysis `json:"analysis"`
	Axis       runstore.Axis     `json:"axis"`
	About      string            `json:"about,omitempty"`
	// Verdict is inconclusive until the run has ended by itself; Finished reports whether it has.
	Verdict   tuning.Verdict `json:"verdict"`
	Finished  bool           `json:"finished"`
	StartedMs int64          `json:"started_ms"`
	Goals     []tuning.Goal  `json:"goals"`
	Rows      []RowReport    `json:"rows"`
	Trials    []TrialReport  `json:"trials"`
	Results   Results        `json:"judged"`
	// Compared are the configurations against the first one.
	Compared []ComparedConfiguration `json:"compared,omitempty"`
	Manifest runstore.Manifest       `json:"manifest"`
	Load     string                  `json:"load"`
	Notes    []string                `json:"notes"`
	Caveats  []string                `json:"caveats"`
	Volume   VolumeReport            `json:"data_volume"`

	plan         runstore.Plan
	mibEstimated bool   // MiB/s of a step at least
	unanswered   string // why the run answers nothing, "" where it does
}

// RowReport is one configuration over all its launches. A run that has ended stored the verdict and the capacity; until
// then they are inconclusive and unknown.
type RowReport struct {
	Configuration int                   `json:"configuration"`
	Label         string                `json:"label"`
	Point         []runstore.Coordinate `json:"point"`
	Launches      int                   `json:"launches"`
	Verdict       tuning.Verdict        `json:"verdict"`
	Capacity      tuning.Interval       `json:"capacity"`
	// Repeats are the capacities of each of its trials by itself, in the trials' order.
	Repeats []tuning.Interval `json:"capacity_of_each_repeat"`
	// Limiters name what limited the steps that missed their goals or were capped.
	Limiters []string `json:"limiters"`
	// LeastHostIdle is that of the step in which the host was busiest.
	LeastHostIdle Figure `json:"least_host_idle"`
}

// TrialReport is one launch of the topology in one configuration, or several launches after a run was resumed. The
// stored figures stay with it, because a comparison computes the scatter of a figure from the stored slices, which may
// be narrower than those of the report.
type TrialReport struct {
	Number        int                   `json:"number"`
	Label         string                `json:"label"`
	Configuration int                   `json:"configuration"`
	Repeat        int                   `json:"repeat"`
	Point         []runstore.Coordinate `json:"point"`
	Settings      []runstore.Entry      `json:"settings"`
	// Changes are what differs from the trial that was measured before it.
	Changes []tuning.Change `json:"changed_since_the_trial_before"`
	// Arguments are all that was laid over the Bullet YAML; Launched is the command line that did it, "" on the local
	// cluster.
	Arguments []runstore.Entry `json:"arguments"`
	Launched  string           `json:"launched,omitempty"`
	// Reported is what its topology reported of itself; null where nothing is known of it.
	Reported *runstore.ReportedConfig `json:"told"`
	State    runstore.TrialState      `json:"state"`
	Error    string                   `json:"error,omitempty"`
	Launches int                      `json:"launches"`
	Steps    []TrialStep              `json:"steps"`
	// Report is what its figures and tables are drawn from; null where no step was measured.
	Report *Report `json:"report"`

	dir     string
	figures *runstore.Figures // as they were stored; nil where none were kept
	values  map[string]string // what is compared with another trial's
}

// TrialStep is a step as it was judged, under the name that all tables and figures use. Steps that were measured again
// are there too; lastAttempts leaves out the earlier ones.
type TrialStep struct {
	runstore.Step
	Name string `json:"name"`
}

// VolumeReport is R/s and MiB/s, averaged over measured time: of the whole test, and of each configuration, in the
// rows' order.
type VolumeReport struct {
	runstore.DataVolume
	Configurations []runstore.DataVolume `json:"configurations"`
}

// Plan is what the run was to do.
func (r *RunReport) Plan() runstore.Plan { return r.plan }

// axis is what the steps ascend along, as people call it.
func (r *RunReport) axis() string { return axisNames[r.plan.Axis] }

// host names the machine whose idle time the run measured: the one that everything ran on, or only the host of the
// load. Every heading uses it, since a reader would otherwise take the idle time of the load's host for that of the
// workers.
func (r *RunReport) host() string {
	if hostOfRun(r.plan) {
		return theRunHost
	}
	return theHost
}

// Class is the class of the run's queries.
func (r *RunReport) Class() string { return r.plan.Load.Class }

// Verdicts count the run's measured steps by what their attempts come to. A step counts once, however often it was
// tried.
func (r *RunReport) Verdicts() map[tuning.Verdict]int {
	counts := map[tuning.Verdict]int{}
	for _, t := range r.Trials {
		for _, s := range t.lastAttempts() {
			counts[t.verdictAt(s)]++
		}
	}
	return counts
}

// label is what people call a configuration.
func (r *RunReport) label(configuration int) string {
	for _, row := range r.Rows {
		if row.Configuration == configuration {
			return row.Label
		}
	}
	return ""
}

// setting is the trial's own, else the run's.
func (r *RunReport) setting(t TrialReport, key string) (value string) {
	for _, entries := range [][]runstore.Entry{r.Manifest.BulletSettings, t.Settings} {
		for _, e := range entries {
			if e.Key == key {
				value = e.Value
			}
		}
	}
	return value
}

// name distinguishes the trial from the other launches of its configuration.
func (t *TrialReport) name() string {
	if t.Repeat > 1 {
		return fmt.Sprintf("%s (repeat %d)", t.Label, t.Repeat)
	}
	return t.Label
}

// lastAttempts leaves out steps that were measured again later in the trial. The order of the others is kept.
func (t TrialReport) lastAttempts() (last []TrialStep) {
	for i, s := range t.Steps {
		again := slices.ContainsFunc(t.Steps[i+1:],
			func(later TrialStep) bool { return later.Kind == s.Kind && later.Value == s.Value })
		if !again {
			last = append(last, s)
		}
	}
	return last
}

// verdictAt is the verdict of all attempts at a step's place. An inconclusive attempt says nothing and gives way to the
// others; attempts that contradict each other make the place inconclusive.
func (t TrialReport) verdictAt(last TrialStep) tuning.Verdict {
	verdict := last.Verdict
	for _, s := range t.Steps {
		if s.Kind != last.Kind || s.Value != last.Value || s.Verdict == tuning.Inconclusive || s.Verdict == verdict {
			continue
		}
		if verdict != tuning.Inconclusive {
			return tuning.Inconclusive // they contradict each other
		}
		verdict = s.Verdict
	}
	return verdict
}

// attempt is the last attempt at a step's place that had a verdict; nil for none.
func (t TrialReport) attempt(place TrialStep, verdict tuning.Verdict) (found *TrialStep) {
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Kind == place.Kind && s.Value == place.Value && s.Verdict == verdict {
			found = s
		}
	}
	return found
}

// explained are the attempts whose reasons the report states: the last one at each place. Where the last one was OK and
// an earlier one failed, it is the failed one, because what it missed has to be explained.
func (t TrialReport) explained() []TrialStep {
	return each(t.lastAttempts(), func(last TrialStep) TrialStep {
		if failed := t.attempt(last, tuning.Fail); failed != nil && last.Verdict == tuning.OK {
			return *failed
		}
		return last
	})
}

// verdictText is the step's verdict. It names a contradicting attempt, since the place as a whole is inconclusive then
// and a bare FAIL would look like a mistake.
func (t TrialReport) verdictText(s TrialStep) string {
	if s.Verdict == tuning.Fail && t.attempt(s, tuning.OK) != nil {
		return "FAIL, and OK in another attempt"
	}
	return string(s.Verdict)
}

// why are a step's reasons, and what limited it unless they say so already.
func (s TrialStep) why() []string {
	why := append([]string{}, s.Reasons...)
	if s.Limitation == nil && s.Verdict != tuning.Inconclusive {
		why = append(why, "what limited it is not known: no evidence was gathered")
	}
	if s.Limitation != nil && !strings.Contains(strings.Join(why, "; "), s.Limitation.Text) {
		why = append(why, s.Limitation.Text)
	}
	return why
}

// trialsOf are the launches of a configuration.
func (r *RunReport) trialsOf(configuration int) (all []*TrialReport) {
	for i := range r.Trials {
		if r.Trials[i].Configuration == configuration {
			all = append(all, &r.Trials[i])
		}
	}
	return all
}

// reported are the trials of which a step was measured. Only they have figures, so all tables of trials begin here.
func (r *RunReport) reported() (all []*TrialReport) {
	for i := range r.Trials {
		if r.Trials[i].Report != nil {
			all = append(all, &r.Trials[i])
		}
	}
	return all
}

// latencyLimit is the limit of the goal about the filter latency, in ms. A run without such a goal is analyzed by the
// limit of Bullet's tuning document.
func (r *RunReport) latencyLimit() float64 {
	for _, g := range r.Goals {
		if g.Figure == tuning.FilterLatency && g.AtMost.Known() {
			return float64(g.AtMost)
		}
	}
	return tuning.DefaultGoals().FilterLatencyLimitMs
}

// queryGoals are what a grid of queries is judged by.
func (r *RunReport) queryGoals() tuning.QueryGoals {
	return tuning.QueryGoals{
		LimitMs: r.latencyLimit(), Headroom: tuning.DefaultHeadroom, Confidence: tuning.DefaultConfidence,
	}
}
