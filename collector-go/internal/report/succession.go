package report

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// succession is the run's trials on one time axis, one after the other as they were measured, with what was changed before each. What lies
// between trials, and between the launches of one, is left out.
type succession struct {
	axis  axis
	limit Figure
	// The filter latency by slice: of Bullet's means the mean over tasks and the slowest task, and the hook's p99 over each step.
	mean, slowest, p99 []Figure
	// The time to result over each step, as the load client saw it.
	resultP50, resultP99 []Figure
	// changes are the trials' marks, for the legend; those within the trials are named by trial and mark.
	changes []axisMark
}

// succession is nil where fewer than two trials were measured.
func (r *RunReport) succession() *succession {
	s := &succession{limit: Unknown}
	measured := 0
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Report == nil {
			continue
		}
		measured++
		s.limit, s.axis.sliceMs = t.Report.Goals.FilterLatencyLimitMs, t.Report.SliceMs
		s.follow(t)
	}
	if measured < 2 {
		return nil
	}
	s.axis.label = "time measured, one trial after the other, minutes:seconds"
	return s
}

// follow puts a trial behind what is there already, launch by launch.
func (s *succession) follow(t *TrialReport) {
	r, begun := t.Report, s.endMs()
	change := axisMark{ms: begun, name: fmt.Sprintf("T%d", t.Number), title: t.name() + sentence(changesText(t.Changes)), colour: ink}
	s.axis.marks, s.changes = append(s.axis.marks, change), append(s.changes, change)
	marks := r.axisMarks()
	for first := 0; first < len(r.Steps); {
		last := first
		for last+1 < len(r.Steps) && r.Steps[last+1].launch == r.Steps[first].launch {
			last++
		}
		fromMs, toMs := r.Steps[first].StartMs, r.Steps[last].EndMs
		shift := s.endMs() - fromMs
		for _, step := range r.Steps[first : last+1] {
			step.StartMs, step.MeasuredFromMs, step.EndMs = step.StartMs+shift, step.MeasuredFromMs+shift, step.EndMs+shift
			s.axis.steps = append(s.axis.steps, step)
		}
		s.addSlices(r, fromMs, toMs, shift)
		for _, m := range marks {
			if m.ms >= fromMs && m.ms <= toMs {
				m.ms, m.name = m.ms+shift, fmt.Sprintf("%d.%s", t.Number, m.name)
				s.axis.marks = append(s.axis.marks, m)
			}
		}
		first = last + 1
	}
}

// endMs is where the next trial begins.
func (s *succession) endMs() int64 {
	if n := len(s.axis.steps); n > 0 {
		return s.axis.steps[n-1].EndMs
	}
	return 0
}

// addSlices adds a launch's slices; a slice of nothing keeps its lines apart from the next launch's.
func (s *succession) addSlices(r *Report, fromMs, toMs, shift int64) {
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

func (s *succession) addSlice(endMs int64, mean, slowest, p99, resultP50, resultP99 Figure) {
	s.axis.timesMs = append(s.axis.timesMs, endMs)
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

func (s *succession) panels() []panel {
	filter := panel{name: "latency", title: "Filter latency: mean over tasks (dashed: the slowest task; orange: the hook's p99 of each step)", yLabel: "ms, logarithmic", text: trim, log: true,
		limit: s.limit, limitAs: "limit " + trim(float64(s.limit)) + " ms",
		lines: []line{{colour: muted, figures: s.slowest, dashed: true, plain: true}, {colour: ink, figures: s.mean}}}
	if anyKnown(s.p99) {
		filter.lines = append(filter.lines, line{colour: workerColour(1), figures: s.p99, plain: true})
	} else {
		filter.title = "Filter latency: mean over tasks (dashed: the slowest task)"
	}
	all := []panel{filter}
	if anyKnown(s.resultP99) {
		all = append(all, panel{name: "result", title: "Time to result of each step's queries: p99 (dashed: p50)", yLabel: "ms, logarithmic", text: trim, log: true, limit: Unknown,
			lines: []line{{colour: muted, figures: s.resultP50, dashed: true, plain: true}, {colour: ink, figures: s.resultP99, plain: true}}})
	}
	return all
}

func anyKnown(figures []Figure) bool {
	for _, f := range figures {
		if f.Known() {
			return true
		}
	}
	return false
}

// drawing is the figure.
func (s *succession) drawing() drawing {
	f, l := figure{"trials", s.panels()}, legend{}
	l.addMarks(s.changes, trialRows)
	draws := func(c draw.Canvas) {
		rectangle(c, paper, c.Min.X, c.Min.Y, c.Max.X, c.Max.Y)
		head := draw.Crop(c, sideMargin, -sideMargin, f.height(0), 0)
		head.FillText(style(titleSize, ink), vg.Point{X: head.Min.X, Y: head.Max.Y - 15},
			fmt.Sprintf("The trials one after the other, slices of %d s (darker: warm-up); in brackets what was changed", s.axis.sliceMs/1000))
		l.draw(head)
		s.axis.drawPanels(f, l.height(), c)
	}
	height := f.height(l.height())
	return drawing{name: f.name, alt: "Latency over all trials, with what was changed before each", svg: func() ([]byte, error) { return svgOf(height, draws) },
		png: func() ([]byte, error) { return pngOf(height, draws) }}
}

// successionBlocks are the trials on one axis, with what was changed before each in words.
func (r *RunReport) successionBlocks() []block {
	s := r.succession()
	if s == nil {
		return nil
	}
	t := table{Heads: []string{"Mark", "Trial", "Changed since the trial before"}, Numeric: []bool{false, false, false}}
	for i := range r.Trials {
		trial := &r.Trials[i]
		if trial.Report != nil {
			t.Rows = append(t.Rows, []string{fmt.Sprintf("T%d", trial.Number), trial.name(), changesText(trial.Changes)})
		}
	}
	return []block{drawn(s.drawing()), paragraph("A mark such as 2.1 is the first annotation within the second trial; the trial's own section tells its text."), tabled(t)}
}

// changesText is "key: before → after; ...".
func changesText(changes []tuning.Change) string {
	var all []string
	value := func(v *string) string {
		if v == nil {
			return "–"
		}
		return *v
	}
	for _, c := range changes {
		all = append(all, fmt.Sprintf("%s: %s → %s", c.Key, value(c.Before), value(c.After)))
	}
	return strings.Join(all, "; ")
}
