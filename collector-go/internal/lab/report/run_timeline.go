package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// runTimeline shows the run's trials on one time axis, one after the other as they were measured, with the changes
// before each. The time between trials and between the launches of a trial is left out, because nothing was measured
// then.
type runTimeline struct {
	axis   chart.TimeAxis
	limit  Figure
	window window
	slices []timelineSlice
	// changes are the annotations of the trials for the legend. Annotations within a trial are named by trial and
	// annotation.
	changes []chart.Annotation
}

// timelineSlice holds the figures that are drawn for one slice.
type timelineSlice struct {
	// The filter latency: mean is over all tasks, slowest is that of the slowest task, and p99 is from the hook over
	// the step.
	mean, slowest, p99 Figure
	// The time to result over the step, as the load client measured it.
	resultP50, resultP99 Figure
}

// noSlice separates the line of a launch from that of the next one.
var noSlice = timelineSlice{Unknown, Unknown, Unknown, Unknown, Unknown}

// runTimeline returns nil if fewer than two trials were measured, because the trial's own figure then shows the same.
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
	s.axis.Label = "measured time of all trials, minutes:seconds"
	return s
}

// follow appends a trial, launch by launch, because there is a gap in the trial before each launch.
func (s *runTimeline) follow(t *TrialReport) {
	r := t.Report
	change := chart.Annotation{
		Ms: s.endMs(), Name: fmt.Sprintf("T%d", t.Number), Colour: chart.Ink,
		Title: t.name() + tuning.InBrackets(changesText(t.Changes)),
	}
	s.axis.Annotations, s.changes = append(s.axis.Annotations, change), append(s.changes, change)
	// Steps of one launch are adjacent. A new launch number begins the next launch.
	for steps := r.Steps; len(steps) > 0; {
		n := slices.IndexFunc(steps, func(later StepReport) bool { return later.launch != steps[0].launch })
		if n < 0 {
			n = len(steps)
		}
		s.followLaunch(t, steps[:n])
		steps = steps[n:]
	}
}

// followLaunch appends the steps, slices and annotations of one launch, all shifted by the same time.
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

// endMs returns the time at which the next trial begins on the axis, in ms.
func (s *runTimeline) endMs() int64 {
	if n := len(s.axis.Steps); n > 0 {
		return s.axis.Steps[n-1].EndMs
	}
	return 0
}

// addSlices adds the slices of a launch and a gap after them.
func (s *runTimeline) addSlices(r *Report, fromMs, toMs, shift int64) {
	add := func(endMs int64, slice timelineSlice) {
		s.axis.EndsMs, s.slices = append(s.axis.EndsMs, endMs+shift), append(s.slices, slice)
	}
	for i, t := range r.TimesMs {
		if t-r.SliceMs < fromMs || t > toMs {
			continue
		}
		slice := noSlice
		slice.mean, slice.slowest = r.FilterLatencyMeanMs[i], r.FilterLatencyMaxMs[i]
		for _, step := range r.Steps {
			if t-r.SliceMs < step.MeasuredFromMs || t > step.EndMs {
				continue
			}
			slice.resultP50, slice.resultP99 = positive(step.Clients.LatencyP50Ms), positive(step.Clients.LatencyP99Ms)
			if step.FilterLatency != nil {
				slice.p99 = step.FilterLatency.P99Ms
			}
		}
		add(t, slice)
	}
	add(toMs, noSlice)
}

// panels returns the filter latency and, if the load client ran queries, the time to result of each step. The axis of
// the latter is linear if it counts from the queries' own end, because it can then be negative.
func (s *runTimeline) panels() []chart.Panel {
	of := func(figure func(timelineSlice) Figure) []Figure { return tuning.Each(s.slices, figure) }
	p99 := of(func(slice timelineSlice) Figure { return slice.p99 })
	filter := latencyPanel(s.limit, dashedLine(of(func(slice timelineSlice) Figure { return slice.slowest })),
		line(chart.Ink, of(func(slice timelineSlice) Figure { return slice.mean })))
	if slices.ContainsFunc(p99, Figure.Known) {
		filter.Title += " (dashed: slowest task; orange: p99 of each step from the latency hook)"
		filter.Lines = append(filter.Lines, plainLine(chart.Series(1), p99))
	} else {
		filter.Title += " (dashed: slowest task)"
	}
	resultP50 := of(func(slice timelineSlice) Figure { return s.window.beyond(slice.resultP50) })
	resultP99 := of(func(slice timelineSlice) Figure { return s.window.beyond(slice.resultP99) })
	if !slices.ContainsFunc(resultP99, Figure.Known) {
		return []chart.Panel{filter}
	}
	kind := chart.Panel{
		Name: "result", YLabel: s.window.unit(), Text: chart.Plain, Log: s.window == 0, Limit: chart.NoLimit,
	}
	return []chart.Panel{filter, panel(kind, s.window.head()+", all queries of a step: p99 (dashed: p50)",
		dashedLine(resultP50), plainLine(chart.Ink, resultP99))}
}

// trialRows is the number of rows of the legend for trials.
const trialRows = 12

// figure returns the timeline of the run. Its legend names the trials with the changes before each.
func (s *runTimeline) figure() chart.Figure {
	return chart.Timeline{
		Name: "trials", Alt: "Latency over all trials, with the changes before each", Axis: s.axis,
		Title: fmt.Sprintf("Latency over all trials, slices of %d s (darker: warm-up); changes in brackets",
			s.axis.SliceMs/1000), Panels: s.panels(), Legend: []chart.Keys{annotationKeys(s.changes, trialRows)},
	}.Figure()
}

// runTimelineBlocks returns the figure with all trials on one axis, and a table of the changes before each.
func (r *RunReport) runTimelineBlocks() []document.Block {
	s := r.runTimeline()
	if s == nil {
		return nil
	}
	type trial = *TrialReport
	return []document.Block{
		document.Drawn(s.figure()),
		document.Paragraph("A mark such as 2.1 is the first annotation of the second trial. The section of the trial has its text."),
		document.Tabled(document.TableOf(r.reported(),
			document.Text("Mark", func(t trial) string { return fmt.Sprintf("T%d", t.Number) }),
			document.Text("Trial", func(t trial) string { return t.name() }),
			document.Text("Changes since the previous trial", func(t trial) string { return changesText(t.Changes) }))),
	}
}

// changesText formats changes as "key: before → after; ...".
func changesText(changes []tuning.Change) string {
	return strings.Join(tuning.Each(changes, func(c tuning.Change) string {
		return fmt.Sprintf("%s: %s → %s", c.Key, settingText(c.Before), settingText(c.After))
	}), "; ")
}
