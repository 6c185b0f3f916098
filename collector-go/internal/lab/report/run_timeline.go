package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// runTimeline is the run's trials on one time axis, one after the other as they were measured, with what was changed
// before each. What lies between trials, and between the launches of one, is left out.
type runTimeline struct {
	axis  chart.TimeAxis
	limit Figure
	// The filter latency by slice: of Bullet's means the mean over tasks and the slowest task, and the hook's p99 over
	// each step.
	mean, slowest, p99 []Figure
	// The time to result over each step, as the load client saw it.
	resultP50, resultP99 []Figure
	window               window
	// changes are the trials' annotations, for the legend; those within the trials are named by trial and annotation.
	changes []chart.Annotation
}

// runTimeline is nil where fewer than two trials were measured.
func (r *RunReport) runTimeline() *runTimeline {
	measured := r.reported()
	if len(measured) < 2 {
		return nil
	}
	s := &runTimeline{limit: Unknown}
	for _, t := range measured {
		s.limit, s.axis.SliceMs = t.Report.Goals.FilterLatencyLimitMs, t.Report.SliceMs
		s.window = max(s.window, t.Report.window())
		s.follow(t)
	}
	s.axis.Label = "time measured, one trial after the other, minutes:seconds"
	return s
}

// follow puts a trial behind what is there already, launch by launch.
func (s *runTimeline) follow(t *TrialReport) {
	r := t.Report
	change := chart.Annotation{
		Ms: s.endMs(), Name: fmt.Sprintf("T%d", t.Number), Colour: chart.Ink,
		Title: t.name() + tuning.InBrackets(changesText(t.Changes)),
	}
	s.axis.Annotations, s.changes = append(s.axis.Annotations, change), append(s.changes, change)
	for steps := r.Steps; len(steps) > 0; {
		n := slices.IndexFunc(steps, func(later StepReport) bool { return later.launch != steps[0].launch })
		if n < 0 {
			n = len(steps)
		}
		s.followLaunch(t, steps[:n])
		steps = steps[n:]
	}
}

// followLaunch adds the steps of one launch, its slices and what was annotated meanwhile.
func (s *runTimeline) followLaunch(t *TrialReport, steps []StepReport) {
	fromMs, toMs := steps[0].StartMs, steps[len(steps)-1].EndMs
	shift := s.endMs() - fromMs
	for _, step := range bands(steps) {
		step.StartMs, step.MeasuredFromMs, step.EndMs = step.StartMs+shift, step.MeasuredFromMs+shift, step.EndMs+shift
		s.axis.Steps = append(s.axis.Steps, step)
	}
	s.addSlices(t.Report, fromMs, toMs, shift)
	for _, a := range t.Report.annotations() {
		if a.Ms >= fromMs && a.Ms <= toMs {
			a.Ms, a.Name = a.Ms+shift, fmt.Sprintf("%d.%s", t.Number, a.Name)
			s.axis.Annotations = append(s.axis.Annotations, a)
		}
	}
}

// endMs is where the next trial begins.
func (s *runTimeline) endMs() int64 {
	if n := len(s.axis.Steps); n > 0 {
		return s.axis.Steps[n-1].EndMs
	}
	return 0
}

// addSlices adds a launch's slices; a slice of nothing keeps its lines apart from the next launch's.
func (s *runTimeline) addSlices(r *Report, fromMs, toMs, shift int64) {
	for i, t := range r.TimesMs {
		if t-r.SliceMs < fromMs || t > toMs {
			continue
		}
		p99, resultP50, resultP99 := Unknown, Unknown, Unknown
		for _, step := range r.Steps {
			if t-r.SliceMs < step.MeasuredFromMs || t > step.EndMs {
				continue
			}
			resultP50, resultP99 = step.Clients.LatencyP50Ms, step.Clients.LatencyP99Ms
			if step.FilterLatency != nil {
				p99 = step.FilterLatency.P99Ms
			}
		}
		s.addSlice(t+shift, r.FilterLatencyMeanMs[i], r.FilterLatencyMaxMs[i], p99, resultP50, resultP99)
	}
	s.addSlice(toMs+shift, Unknown, Unknown, Unknown, Unknown, Unknown)
}

func (s *runTimeline) addSlice(endMs int64, mean, slowest, p99, resultP50, resultP99 Figure) {
	s.axis.EndsMs = append(s.axis.EndsMs, endMs)
	s.mean, s.slowest, s.p99 = append(s.mean, mean), append(s.slowest, slowest), append(s.p99, p99)
	s.resultP50, s.resultP99 = append(s.resultP50, positive(resultP50)), append(s.resultP99, positive(resultP99))
}

// positive is what a logarithmic axis can show: a step in which no query returned has no latency.
func positive(f Figure) Figure {
	if f > 0 {
		return f
	}
	return Unknown
}

func (s *runTimeline) panels() []chart.Panel {
	plain := func(colour chart.Colour, figures []Figure) chart.Line {
		return chart.Line{Colour: colour, Values: values(figures), Plain: true}
	}
	filter := latencyPanel(s.limit, dashedLine(s.slowest), line(chart.Ink, s.mean))
	if slices.ContainsFunc(s.p99, Figure.Known) {
		filter.Title += " (dashed: the slowest task; orange: the hook's p99 of each step)"
		filter.Lines = append(filter.Lines, plain(chart.Series(1), s.p99))
	} else {
		filter.Title += " (dashed: the slowest task)"
	}
	if !slices.ContainsFunc(s.resultP99, Figure.Known) {
		return []chart.Panel{filter}
	}
	beyond := func(all []Figure) (out []Figure) {
		for _, ms := range all {
			out = append(out, s.window.beyond(ms))
		}
		return out
	}
	result := panel(chart.Panel{Name: "result", YLabel: s.window.unit(), Text: chart.Plain, Log: s.window == 0,
		Limit: chart.NoLimit},
		s.window.head()+", each step's queries: p99 (dashed: p50)", dashedLine(beyond(s.resultP50)),
		plain(chart.Ink, beyond(s.resultP99)))
	return []chart.Panel{filter, result}
}

// trialRows is how many rows of the legend name the trials.
const trialRows = 12

func (s *runTimeline) figure() chart.Figure {
	return chart.Timeline{
		Name: "trials", Alt: "Latency over all trials, with what was changed before " +
			"each", Axis: s.axis, Panels: s.panels(),
		Title: fmt.Sprintf(
			"The trials one after the other, slices of %d s (darker: warm-up); in brackets what was changed",
			s.axis.SliceMs/1000),
		Legend: []chart.Keys{annotationKeys(s.changes, trialRows)},
	}.Figure()
}

// runTimelineBlocks are the trials on one axis, with what was changed before each in words.
func (r *RunReport) runTimelineBlocks() []document.Block {
	s := r.runTimeline()
	if s == nil {
		return nil
	}
	return []document.Block{
		document.Drawn(s.figure()),
		document.Paragraph(
			"A mark such as 2.1 is the first annotation within the second trial; the trial's own section has its " +
				"text."),
		document.Tabled(document.TableOf(r.reported(),
			document.Text("Mark", func(t *TrialReport) string { return fmt.Sprintf("T%d", t.Number) }),
			document.Text("Trial", func(t *TrialReport) string { return t.name() }),
			document.Text("Changed since the trial before",
				func(t *TrialReport) string { return changesText(t.Changes) }))),
	}
}

// changesText is "key: before → after; ...".
func changesText(changes []tuning.Change) string {
	var all []string
	value := func(v *string) string {
		if v == nil {
			return document.Unknown
		}
		return *v
	}
	for _, c := range changes {
		all = append(all, fmt.Sprintf("%s: %s → %s", c.Key, value(c.Before), value(c.After)))
	}
	return strings.Join(all, "; ")
}
