package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// restart is when Storm started a worker again.
type restart struct {
	ms     int64
	worker int
}

// restarts are those that lie on the figures' time axis. A worker's first process is no restart.
func (r *Report) restarts() (all []restart) {
	for i, w := range r.Workers {
		for _, ms := range w.RestartsMs {
			all = append(all, restart{ms, i})
		}
	}
	return all
}

// restartsMs are the starts but the first, as far as they lie in (from, to].
func (w Worker) restartsMs(from, to int64) (all []int64) {
	for i, ms := range w.StartsMs {
		if i > 0 && ms > from && ms <= to {
			all = append(all, ms)
		}
	}
	return all
}

// restartMarks are upright lines where workers were started again, in the workers' colours.
type restartMarks struct {
	axis
	labelled bool
}

// Plot draws the lines.
func (m restartMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, r := range m.restarts {
		pen := stroke(workerColour(r.worker), 1)
		pen.Dashes = []vg.Length{2, 2}
		at := x(m.seconds(r.ms))
		c.StrokeLine2(pen, at, c.Min.Y, at, c.Max.Y)
		if m.labelled {
			label := style(textSize, workerColour(r.worker))
			label.YAlign = text.YBottom
			c.FillText(label, vg.Point{X: at + 3, Y: c.Min.Y + 2}, "restart")
		}
	}
}
