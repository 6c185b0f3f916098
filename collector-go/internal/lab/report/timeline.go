package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
)

// timelineName is the name of the figure that holds all panels over one axis.
const timelineName = "timeline"

// Bounds of what many workers take: above so many their lines are thin, with the mean drawn over them, and the legend
// has so many rows of them, and so many of annotations.
const (
	manyWorkers    = 8
	workerRows     = 2
	annotationRows = 4
)

// moment writes a time.
func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC") }

// timeline is all figures of the trial over one time axis.
func (r *Report) timeline() chart.Timeline {
	axis := r.timeAxis()
	return chart.Timeline{
		Name: timelineName, Alt: timelineName + " over time", Axis: axis, Panels: r.panels(),
		Title: fmt.Sprintf("Topology %s, slices of %d s, steps of %s from %s (darker: warm-up)",
			r.Topology, r.SliceMs/1000, r.axisName(), moment(r.StartedMs)),
		Legend: []chart.Keys{
			{Keys: r.workerKeys(), MostRows: workerRows}, annotationKeys(axis.Annotations, annotationRows),
		},
	}
}

func (r *Report) timeAxis() chart.TimeAxis {
	return chart.TimeAxis{
		EndsMs: r.TimesMs, SliceMs: r.SliceMs, OriginMs: r.StartedMs, Steps: bands(r.Steps), Restarts: r.restarts(),
		Annotations: r.annotations(),
	}
}

func bands(steps []StepReport) (all []chart.Step) {
	for _, s := range steps {
		all = append(all,
			chart.Step{Name: s.name(), StartMs: s.StartMs, MeasuredFromMs: s.MeasuredFromMs, EndMs: s.EndMs})
	}
	return all
}

func (r *Report) workerKeys() (keys []chart.Key) {
	if len(r.Workers) > manyWorkers {
		keys = append(keys, chart.Key{Name: "mean", Colour: chart.Ink})
	}
	for i, w := range r.Workers {
		keys = append(keys,
			chart.Key{Name: fmt.Sprintf("worker %s (pid %d)", w.Worker, w.Pid), Colour: chart.Series(i)})
	}
	return keys
}

func annotationKeys(all []chart.Annotation, mostRows int) chart.Keys {
	keys := chart.Keys{MostRows: mostRows}
	for _, a := range all {
		keys.Keys = append(keys.Keys, a.Key())
	}
	return keys
}

// panels are the report's figures from top to bottom.
func (r *Report) panels() []chart.Panel {
	asked := chart.Line{Colour: chart.Muted, Values: values(r.held()), Plain: true}
	latency := latencyPanel(r.Goals.FilterLatencyLimitMs, dashedLine(r.FilterLatencyMaxMs),
		line(chart.Ink, r.FilterLatencyMeanMs))
	latency.Title += " (dashed: the slowest task)"
	return slices.Concat([]chart.Panel{
		panel(queriesPanel, "Queries running: sum over the JoinBolt's tasks (grey: asked for)", asked,
			line(chart.Ink, r.QueriesRunning)),
		panel(cpuPanel, "CPU time per worker, user and system together",
			r.byWorker(func(w WorkerReport) []Figure { return w.CPUMsPerMinute })...),
	}, r.cpuParts(), []chart.Panel{
		panel(heapPanel, "Heap used per worker, mean of the slice",
			r.byWorker(func(w WorkerReport) []Figure { return w.HeapUsedBytes })...),
		panel(gcPanel, "GC time per worker, all collectors",
			r.byWorker(func(w WorkerReport) []Figure { return w.GCMsPerMinute })...),
		latency,
	})
}

// cpuParts is the panel of user and system time apart; none where no worker has them.
func (r *Report) cpuParts() []chart.Panel {
	user := r.overWorkers(func(w WorkerReport) []Figure { return w.CPUUserMsPerMinute }, totalOrUnknown)
	if !slices.ContainsFunc(user, Figure.Known) {
		return nil
	}
	system := r.overWorkers(func(w WorkerReport) []Figure { return w.CPUSystemMsPerMinute }, totalOrUnknown)
	parts := panel(cpuPanel, "CPU time of all workers: user, and system apart (dashed)", line(chart.Ink, user),
		dashedLine(system))
	parts.Name = "cpu-parts"
	return []chart.Panel{parts}
}

// The kinds of panels, without their titles and lines.
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

// panel is one of a kind.
func panel(kind chart.Panel, title string, lines ...chart.Line) chart.Panel {
	kind.Title, kind.Lines = title, lines
	return kind
}

func latencyPanel(limitMs Figure, lines ...chart.Line) chart.Panel {
	return chart.Panel{
		Name: "latency", Title: "Filter latency: mean over tasks", YLabel: "ms, logarithmic", Text: chart.Plain,
		Log:   true,
		Limit: chart.Limit{At: float64(limitMs), Name: "limit " + chart.Plain(float64(limitMs)) + " ms"}, Lines: lines,
	}
}

// cores writes ms of CPU a minute as cores.
func cores(msPerMinute float64) string {
	if msPerMinute == 0 {
		return "0 cores"
	}
	return chart.Plain(math.Round(100*msPerMinute/float64(minuteMs)) / 100)
}

func line(colour chart.Colour, figures []Figure) chart.Line {
	return chart.Line{Colour: colour, Values: values(figures)}
}

func dashedLine(figures []Figure) chart.Line {
	return chart.Line{Colour: chart.Muted, Values: values(figures), Dashed: true, Plain: true}
}

// values are figures as a chart takes them.
func values(figures []Figure) []float64 {
	out := make([]float64, len(figures))
	for i, f := range figures {
		out[i] = float64(f)
	}
	return out
}

// byWorker is a line for each worker, and their mean where they are many.
func (r *Report) byWorker(figures func(WorkerReport) []Figure) (lines []chart.Line) {
	many := len(r.Workers) > manyWorkers
	for i, w := range r.Workers {
		lines = append(lines, chart.Line{Colour: chart.Series(i), Values: values(figures(w)), Thin: many, Plain: many})
	}
	if many {
		lines = append(lines,
			chart.Line{Colour: chart.Ink, Values: values(r.overWorkers(figures, runstore.Average)), Plain: true})
	}
	return lines
}

// held is how many queries were to run in each slice; nothing where a slice spans two steps.
func (r *Report) held() []Figure {
	return each(r.TimesMs, func(t int64) Figure {
		for _, step := range r.Steps {
			if t-r.SliceMs >= step.StartMs && t <= step.EndMs {
				return Figure(step.Queries)
			}
		}
		return Unknown
	})
}

// figures are the timeline, then each of its panels alone.
func (r *Report) figures() []chart.Figure {
	whole := r.timeline()
	all := []chart.Figure{whole.Figure()}
	for _, p := range whole.Panels {
		all = append(all, whole.Alone(p).Figure())
	}
	return all
}

// WriteFigures writes every figure as SVG and PNG into dir.
func (r *Report) WriteFigures(dir string) error { return chart.WriteFigures(r.figures(), dir) }
