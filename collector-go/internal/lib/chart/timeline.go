package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Timeline is a figure of panels below each other, over one time axis.
type Timeline struct {
	Name, Title, Alt string
	Axis             TimeAxis
	Legend           []Keys
	Panels           []Panel
}

const (
	panelHeight = vg.Length(104) // without its heading
	panelGap    = vg.Length(10)
	axisHeight  = vg.Length(38) // of the last panel's axis
)

// Figure is the timeline as a picture.
func (t Timeline) Figure() Figure {
	return Figure{
		Name: t.Name, Title: t.Title, Alt: t.Alt, height: func(width vg.Length) vg.Length {
			rows, panel := vg.Length(len(t.Panels)), panelHeight
			for _, p := range t.Panels {
				panel = max(panel, panelHeight+titleRow*vg.Length(len(p.heading(width))))
			}
			return newLegend(width, t.Legend...).height() + rows*panel + (rows-1)*panelGap + axisHeight
		},
		draw: t.draw,
	}
}

func (t Timeline) draw(c draw.Canvas) {
	width := c.Max.X - c.Min.X
	legend := newLegend(width, t.Legend...)
	legend.draw(c)
	rows := make([][]*plot.Plot, len(t.Panels))
	for i, p := range t.Panels {
		rows[i] = []*plot.Plot{p.plot(t.Axis, i == 0, i == len(t.Panels)-1, width)}
	}
	tiles := draw.Tiles{
		Rows: len(rows), Cols: 1, PadY: panelGap, PadLeft: sideMargin, PadRight: sideMargin, PadBottom: 4,
	}
	for i, canvases := range plot.Align(rows, tiles, draw.Crop(c, 0, 0, 0, -legend.height())) {
		rows[i][0].Draw(canvases[0])
	}
}

// Alone is the timeline of one of its panels, under the panel's name.
func (t Timeline) Alone(p Panel) Timeline {
	t.Name, t.Alt, t.Panels = p.Name, p.Name+" over time", []Panel{p}
	return t
}
