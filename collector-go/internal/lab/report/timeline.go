package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// Tags of annotations that the figures show in another way: steps as bands, and restarts as lines in the colour of the
// worker.
const (
	stepTag    = "step"
	restartTag = "restart"
)

// The limits of what is shown. report.json has everything.
const (
	mostDrawn         = 30
	mostAnnotationRow = 60
)

// annotated returns the report's annotations sorted by time, without those of its steps.
func (r *Report) annotated() (all []runstore.Annotation) {
	all = tuning.Those(r.Annotations, func(m runstore.Annotation) bool { return !slices.Contains(m.Tags, stepTag) })
	slices.SortStableFunc(all, func(a, b runstore.Annotation) int { return int(a.StartMs - b.StartMs) })
	return all
}

// annotations returns the numbered annotations on the time axis of the figures. The table below the figure uses the
// same numbers, so both must use the same order and the same limit.
func (r *Report) annotations() (all []chart.Annotation) {
	for _, m := range r.annotated() {
		if r.drawn(m) && len(all) < mostDrawn {
			name := strconv.Itoa(len(all) + 1)
			all = append(all, chart.Annotation{Ms: m.StartMs, Name: name, Title: m.Title, Colour: chart.Change})
		}
	}
	return all
}

// restarts returns the restarts of workers. The first process of a worker is not a restart.
func (r *Report) restarts() (all []chart.Restart) {
	for i, w := range r.Workers {
		for _, ms := range w.RestartsMs {
			all = append(all, chart.Restart{Ms: ms, Colour: chart.Series(i)})
		}
	}
	return all
}

// sameRestart is the largest difference in ms between a restart's annotation and the start of the worker's process.
const sameRestart = int64(2000)

// drawn reports whether an annotation is drawn: it is on the time axis and not already shown as the restart of a
// worker.
func (r *Report) drawn(m runstore.Annotation) bool {
	from, to := r.StartedMs, r.Steps[len(r.Steps)-1].EndMs
	if len(r.TimesMs) > 0 {
		from = min(from, r.TimesMs[0]-r.SliceMs)
	}
	if m.StartMs < from || m.StartMs > to {
		return false
	}
	return !slices.Contains(m.Tags, restartTag) || !slices.ContainsFunc(r.restarts(), func(s chart.Restart) bool {
		return s.Ms-m.StartMs <= sameRestart && m.StartMs-s.Ms <= sameRestart
	})
}

// annotationBlocks returns the table of the annotations with their texts.
func (r *Report) annotationBlocks() []document.Block {
	if r.Annotations == nil {
		return []document.Block{document.Paragraph("The annotations of this time were not stored.")}
	}
	all, onAxis := r.annotated(), 0
	if len(all) == 0 {
		return []document.Block{document.Paragraph("There are no annotations except the steps.")}
	}
	t := document.NewTable(document.Numbers("Mark", ""), document.Numbers("At", ""),
		document.Words("Title"), document.Words("Text"), document.Words("Tags"))
	since := func(ms int64) string { return chart.Clock(float64(ms-r.StartedMs) / 1000) }
	for _, m := range all[:min(len(all), mostAnnotationRow)] {
		name := document.Unknown
		if r.drawn(m) && onAxis < mostDrawn {
			onAxis++
			name = strconv.Itoa(onAxis)
		}
		at := since(m.StartMs)
		if m.EndMs > 0 {
			at += " to " + since(m.EndMs)
		}
		text := strings.ReplaceAll(strings.TrimSpace(m.Text), "\n", "; ")
		t.Add(name, at, m.Title, text, strings.Join(m.Tags, ", "))
	}
	blocks := []document.Block{document.Tabled(t)}
	if more := len(all) - mostAnnotationRow; more > 0 {
		blocks = append(blocks, document.Paragraph("%s more in report.json.", tuning.Counted(more, "annotation")))
	}
	return blocks
}

// timelineName is the name of the figure that has all panels over one axis.
const timelineName = "timeline"

// Limits for many workers and annotations. With more than manyWorkers workers the lines are thin and their mean is
// drawn over them. workerRows and annotationRows are the numbers of rows in the legend.
const (
	manyWorkers    = 8
	workerRows     = 2
	annotationRows = 4
)

// moment formats a Unix time in ms as a date and time in UTC.
func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC") }

// timeline returns all figures of the trial over one time axis.
func (r *Report) timeline() chart.Timeline {
	axis := r.timeAxis()
	return chart.Timeline{
		Name: timelineName, Alt: timelineName + " over time", Axis: axis, Panels: r.panels(),
		Title: fmt.Sprintf("Topology %s, slices of %d s, steps in %s from %s (darker: warm-up)",
			r.Topology, r.SliceMs/1000, r.Axis, moment(r.StartedMs)),
		Legend: []chart.Keys{
			{Keys: r.workerKeys(), MostRows: workerRows}, annotationKeys(axis.Annotations, annotationRows),
		},
	}
}

// timeAxis returns the axis of all figures of the trial. Its origin is the start of the first step, so earlier times,
// such as the calibration, are negative.
func (r *Report) timeAxis() chart.TimeAxis {
	return chart.TimeAxis{
		EndsMs: r.TimesMs, SliceMs: r.SliceMs, OriginMs: r.StartedMs, Steps: bands(r.Steps), Restarts: r.restarts(),
		Annotations: r.annotations(),
	}
}

// bands returns a band for each step, with a darker warm-up.
func bands(steps []StepReport) []chart.Step {
	return tuning.Each(steps, func(s StepReport) chart.Step {
		return chart.Step{Name: s.Label, StartMs: s.StartMs, MeasuredFromMs: s.MeasuredFromMs, EndMs: s.EndMs}
	})
}

// workerKeys returns the legend of the workers with the process id of each, and of their mean if it is drawn.
func (r *Report) workerKeys() (keys []chart.Key) {
	if len(r.Workers) > manyWorkers {
		keys = append(keys, chart.Key{Name: "mean", Colour: chart.Ink})
	}
	for i, w := range r.Workers {
		name := fmt.Sprintf("worker %s (pid %d)", w.Worker, w.Pid)
		keys = append(keys, chart.Key{Name: name, Colour: chart.Series(i)})
	}
	return keys
}

// annotationKeys returns the legend of annotations, which has at most mostRows rows.
func annotationKeys(all []chart.Annotation, mostRows int) chart.Keys {
	return chart.Keys{MostRows: mostRows, Keys: tuning.Each(all, chart.Annotation.Key)}
}

// panels returns the report's panels from top to bottom. All have the same time axis, so that a reader can follow a
// change from the queries to CPU, heap, garbage collection and latency.
func (r *Report) panels() []chart.Panel {
	asked := plainLine(chart.Muted, r.held())
	latency := latencyPanel(r.Goals.FilterLatencyLimitMs, dashedLine(r.FilterLatencyMaxMs),
		line(chart.Ink, r.FilterLatencyMeanMs))
	latency.Title += " (dashed: slowest task)"
	return slices.Concat([]chart.Panel{
		panel(queriesPanel, "Queries running: sum over the tasks of the JoinBolt (grey: requested)", asked,
			line(chart.Ink, r.QueriesRunning)),
		panel(cpuPanel, "CPU time per worker, user and system",
			r.byWorker(func(w WorkerReport) []Figure { return w.CPUMsPerMinute })...),
	}, r.cpuParts(), []chart.Panel{
		panel(heapPanel, "Heap used per worker, mean of each slice",
			r.byWorker(func(w WorkerReport) []Figure { return w.HeapUsedBytes })...),
		panel(gcPanel, "GC time per worker, all collectors",
			r.byWorker(func(w WorkerReport) []Figure { return w.GCMsPerMinute })...),
		latency,
	})
}

// cpuParts returns the panel of user and system time as totals of all workers. It returns nil if they are not known
// separately.
func (r *Report) cpuParts() []chart.Panel {
	user := r.overWorkers(func(w WorkerReport) []Figure { return w.CPUUserMsPerMinute }, runstore.Total)
	if !slices.ContainsFunc(user, Figure.Known) {
		return nil
	}
	system := r.overWorkers(func(w WorkerReport) []Figure { return w.CPUSystemMsPerMinute }, runstore.Total)
	parts := panel(cpuPanel, "CPU time of all workers: user (solid) and system (dashed)", line(chart.Ink, user),
		dashedLine(system))
	parts.Name = "cpu-parts"
	return []chart.Panel{parts}
}

// The kinds of panels, without titles and lines.
var (
	queriesPanel = chart.Panel{Name: "queries", YLabel: "queries", Text: chart.Plain, Limit: chart.NoLimit}
	cpuPanel     = chart.Panel{
		Name: "cpu", YLabel: "ms per minute", Text: chart.Thousands, Right: cores, Limit: chart.NoLimit,
	}
	heapPanel = chart.Panel{
		Name: "heap", YLabel: "MiB", Unit: mib, Limit: chart.NoLimit,
		Text: func(v float64) string { return chart.Plain(v / mib) },
	}
	gcPanel = chart.Panel{Name: "gc", YLabel: "ms per minute", Text: chart.Thousands, Limit: chart.NoLimit}
)

// panel returns a panel of a kind. The trial's figure and the overlay of two trials share the kinds, so that they have
// the same units and scales.
func panel(kind chart.Panel, title string, lines ...chart.Line) chart.Panel {
	kind.Title, kind.Lines = title, lines
	return kind
}

// latencyPanel shows the filter latency with its limit. The axis is logarithmic, so that the limit and a latency far
// above it are both readable.
func latencyPanel(limitMs Figure, lines ...chart.Line) chart.Panel {
	return chart.Panel{
		Name: "latency", Title: "Filter latency: mean over tasks", YLabel: "ms, logarithmic", Text: chart.Plain,
		Log:   true,
		Limit: chart.Limit{At: float64(limitMs), Name: "limit " + chart.Plain(float64(limitMs)) + " ms"}, Lines: lines,
	}
}

// cores formats CPU time in ms per minute as cores.
func cores(msPerMinute float64) string {
	if msPerMinute == 0 {
		return "0 cores"
	}
	return chart.Plain(math.Round(100*msPerMinute/float64(minuteMs)) / 100)
}

// line returns a line with a mark at each slice, so that a reader sees missing slices.
func line(colour chart.Colour, figures []Figure) chart.Line {
	return chart.Line{Colour: colour, Values: values(figures)}
}

// plainLine returns a line without marks at the slices.
func plainLine(colour chart.Colour, figures []Figure) chart.Line {
	return chart.Line{Colour: colour, Values: values(figures), Plain: true}
}

// dashedLine returns a line for a secondary figure, such as the slowest task or a smaller percentile.
func dashedLine(figures []Figure) chart.Line {
	return chart.Line{Colour: chart.Muted, Values: values(figures), Dashed: true, Plain: true}
}

// byWorker returns a line for each worker. With more than manyWorkers workers the lines are thin and their mean is
// drawn over them.
func (r *Report) byWorker(figures func(WorkerReport) []Figure) (lines []chart.Line) {
	many := len(r.Workers) > manyWorkers
	for i, w := range r.Workers {
		lines = append(lines, chart.Line{Colour: chart.Series(i), Values: values(figures(w)), Thin: many, Plain: many})
	}
	if many {
		lines = append(lines, plainLine(chart.Ink, r.overWorkers(figures, runstore.Average)))
	}
	return lines
}

// held returns how many queries were requested in each slice. It is unknown for a slice that spans two steps, because
// the number changes within it.
func (r *Report) held() []Figure {
	return tuning.Each(r.TimesMs, func(t int64) Figure {
		for _, step := range r.Steps {
			if t-r.SliceMs >= step.StartMs && t <= step.EndMs {
				return Figure(step.Queries)
			}
		}
		return Unknown
	})
}

// figures returns the timeline and then each of its panels as a figure of its own.
func (r *Report) figures() []chart.Figure {
	together := r.timeline()
	alone := tuning.Each(together.Panels, func(p chart.Panel) chart.Figure { return together.Alone(p).Figure() })
	return append([]chart.Figure{together.Figure()}, alone...)
}

// WriteFigures writes every figure as SVG and PNG into dir.
func (r *Report) WriteFigures(dir string) error { return chart.WriteFigures(r.figures(), dir) }

// overlay draws the figures of two trials over the time since the start of their first steps. The bands are the steps
// of the earlier trial, which the title says.
func overlay(before, after *Report, suffix string) chart.Figure {
	axis := before.timeAxis()
	axis.Annotations = bothAnnotations(before, after)
	operands := []chart.Key{{Name: "before", Colour: chart.Series(0)}, {Name: "after", Colour: chart.Series(1)}}
	return chart.Timeline{
		Name: "overlay" + nameSuffix(suffix), Alt: "Both over time" + suffix,
		Title: fmt.Sprintf("Before and after%s, slices of %d s; shaded: steps of the run before (darker: warm-up)",
			suffix, before.SliceMs/1000), Axis: axis, Panels: overlayPanels(before, after),
		Legend: []chart.Keys{{Keys: operands, MostRows: 1}, annotationKeys(axis.Annotations, annotationRows)},
	}.Figure()
}

// bothAnnotations returns the annotations of both trials in their operands' colours, at the times since the start of
// their first steps. They have consecutive numbers, because the legend shows both.
func bothAnnotations(before, after *Report) (all []chart.Annotation) {
	for operand, r := range []*Report{before, after} {
		for _, a := range r.annotations() {
			a.Ms += before.StartedMs - r.StartedMs
			a.Name, a.Colour = strconv.Itoa(len(all)+1), chart.Series(operand)
			a.Title = []string{"before: ", "after: "}[operand] + a.Title
			all = append(all, a)
		}
	}
	return all
}

// overlayPanels shows the figures of the whole topology, before in blue and after in orange.
func overlayPanels(before, after *Report) []chart.Panel {
	both := func(figures func(*Report) []Figure) []chart.Line {
		return []chart.Line{
			line(chart.Series(0), figures(before)), line(chart.Series(1), before.shifted(after, figures(after))),
		}
	}
	workers := func(figures func(WorkerReport) []Figure, together func([]Figure) Figure) []chart.Line {
		return both(func(r *Report) []Figure { return r.overWorkers(figures, together) })
	}
	return []chart.Panel{
		panel(queriesPanel, "Queries running", both(func(r *Report) []Figure { return r.QueriesRunning })...),
		panel(cpuPanel, "CPU time of all workers",
			workers(func(w WorkerReport) []Figure { return w.CPUMsPerMinute }, runstore.Total)...),
		panel(heapPanel, "Heap used, mean of a worker",
			workers(func(w WorkerReport) []Figure { return w.HeapUsedBytes }, runstore.Average)...),
		panel(gcPanel, "GC time of all workers",
			workers(func(w WorkerReport) []Figure { return w.GCMsPerMinute }, runstore.Total)...),
		latencyPanel(before.Goals.FilterLatencyLimitMs,
			both(func(r *Report) []Figure { return r.FilterLatencyMeanMs })...),
	}
}

// shifted maps another report's figures to the slices of this one, by the time since the start of their first steps.
// All figures are unknown if the slices have different widths.
func (r *Report) shifted(other *Report, figures []Figure) []Figure {
	at := map[int64]Figure{}
	for i, t := range other.TimesMs {
		at[t-other.StartedMs] = figures[i]
	}
	return tuning.Each(r.TimesMs, func(t int64) Figure {
		if f, found := at[t-r.StartedMs]; found && r.SliceMs == other.SliceMs {
			return f
		}
		return Unknown
	})
}

// nameSuffix converts a configuration's suffix in titles, ": label", to a part of a file name.
func nameSuffix(suffix string) string {
	if suffix == "" {
		return ""
	}
	return "-" + fileName(suffix[2:])
}

// fileName replaces all characters that are unsafe in a file name, because a label may contain any character.
func fileName(label string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' {
			return c
		}
		return '-'
	}, label)
}
