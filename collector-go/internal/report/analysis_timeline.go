package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// OfTimeline shows a record's way through Bullet.
func OfTimeline(t *tuning.Timeline) *Analysis {
	a := &Analysis{Title: "A record's way through Bullet", notes: t.Notes}
	a.Findings = append(a.Findings, fmt.Sprintf("%d of %d queries found their record.", t.Returned, t.Queries))
	for _, e := range []struct {
		name string
		tuning.Estimate
	}{{"Delay that Bullet adds", t.AddedDelay}, {"Time to find a record that we generate", t.FindTime}} {
		if e.Value.Known() || e.Note != "" {
			a.Findings = append(a.Findings, e.name+": "+estimate(e.Estimate, tuning.DefaultConfidence, "ms")+".")
		}
	}
	if len(t.Skews) > 0 {
		a.Findings = append(a.Findings, "Delays are as stamped: how far the clocks may be apart is stated below, and not taken out of them.")
	}
	stages := table{Heads: []string{"Stage", "Stamped by", "Records", "Mean delay ms", "Standard deviation ms", "Least ms", "Median ms", "p95 ms", "Most ms"},
		Numeric: []bool{false, false, true, true, true, true, true, true, true}}
	for _, s := range t.Stages {
		host := s.Host
		if host == "" {
			host = "–"
		}
		stages.Rows = append(stages.Rows, []string{s.Name, host, fmt.Sprint(s.Count), tuning.Digits(s.MeanMs), tuning.Digits(s.DeviationMs),
			tuning.Digits(s.LeastMs), tuning.Digits(s.MedianMs), tuning.Digits(s.P95Ms), tuning.Digits(s.MostMs)})
	}
	a.add("Delay of each stage relative to Query Received", stages)
	if len(t.Skews) > 0 {
		a.add("How far a clock is ahead of another", skewTable(t.Skews))
	}
	if len(t.Hosts) > 0 {
		a.Findings = append(a.Findings, hostsFinding(t.Hosts))
		a.add("How far each worker host's clock is ahead of the collector's, at least (negative: behind it by no more)", hostTable(t.Hosts))
	}
	if len(t.Stages) > 0 {
		a.Charts = []Chart{{Name: "timeline-stages", Title: "A record's way through Bullet: mean, standard deviation (thick) and range (thin) of each stage",
			xLabel: "ms relative to Query Received (negative: before it)", limit: Unknown, stages: t.Stages}}
	}
	return a
}

func skewTable(skews []tuning.Skew) table {
	rows := table{Heads: []string{"Clock", "Ahead of", "At least ms", "At most ms", "Known by"}, Numeric: []bool{false, false, true, true, false}}
	for _, s := range skews {
		rows.Rows = append(rows.Rows, []string{clockText(s.To, s.ToClocks), clockText(s.From, s.FromClocks), tuning.Digits(s.LeastMs), tuning.Digits(s.MostMs), s.Method + contradiction(s)})
	}
	return rows
}

// clockText is a clock's name, with how many hosts' clocks stand under it.
func clockText(name string, clocks int) string {
	if clocks < 2 {
		return name
	}
	return fmt.Sprintf("%s (%d hosts)", name, clocks)
}

// contradiction points out bounds between which there is nothing.
func contradiction(s tuning.Skew) string {
	if !s.Empty() {
		return ""
	}
	return "; no one skew fits all of them"
}

// hostsFinding says on how many hosts the workers ran, and how far their clocks seem to be apart.
func hostsFinding(hosts []tuning.HostClock) string {
	if len(hosts) == 1 {
		if ahead := hosts[0].AheadMs; ahead > 0 {
			return fmt.Sprintf("The workers ran on one host, whose clock is ahead of the collector's by at least %s ms.", tuning.Digits(ahead))
		}
		return fmt.Sprintf("The workers ran on one host, whose clock is no more than %s ms behind the collector's.", tuning.Digits(-hosts[0].AheadMs))
	}
	return fmt.Sprintf("The workers ran on %d hosts, whose clocks seem to be up to %s ms apart, by the times of their freshest samples: no delay between two hosts is known better than that.",
		len(hosts), tuning.Digits(tuning.Apart(hosts)))
}

func hostTable(hosts []tuning.HostClock) table {
	t := table{Heads: []string{"Host", "Workers", "Readings", "Ahead by at least ms", "Mean reading ms", "Standard deviation ms", "Lowest reading ms"}, Numeric: []bool{false, true, true, true, true, true, true}}
	for _, h := range hosts {
		t.Rows = append(t.Rows, []string{h.Host, fmt.Sprint(h.Workers), fmt.Sprint(h.Readings), tuning.Digits(h.AheadMs), tuning.Digits(h.MeanMs), tuning.Digits(h.DeviationMs), tuning.Digits(h.LowestMs)})
	}
	return t
}

// scaleStages puts a stage a row, the first at the top, over an axis that holds 0.
func (c *Chart) scaleStages(plt *plot.Plot) {
	x := newSpan()
	x.add(0)
	var names plot.ConstantTicks
	for i, s := range c.stages {
		names = append(names, plot.Tick{Value: float64(len(c.stages) - i), Label: s.Name})
		x.add(float64(s.MeanMs), float64(s.LeastMs), float64(s.MostMs), float64(s.MeanMs-s.DeviationMs), float64(s.MeanMs+s.DeviationMs))
	}
	plt.Y.Min, plt.Y.Max = 0.4, float64(len(c.stages))+0.6
	plt.Y.Tick.Marker, plt.Y.Tick.LineStyle.Width = names, 0
	plt.X.Min, plt.X.Max = x.nice(8)
	plt.X.Tick.Marker = ticks(plt.X.Min, plt.X.Max, niceStep(plt.X.Max-plt.X.Min, 8), trim)
}

// stageMarks are a stage's mean, spread and range.
type stageMarks []tuning.Stage

// Plot draws the stages.
func (m stageMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if zero := x(0); zero > c.Min.X {
		c.StrokeLine2(stroke(limitColour, 1), zero, c.Min.Y, zero, c.Max.Y)
	}
	for i, s := range m {
		at := y(float64(len(m) - i))
		bar := func(low, high Figure, thick vg.Length) {
			if low.Known() && high.Known() {
				c.StrokeLine2(stroke(workerColour(0), thick), x(float64(low)), at, x(math.Max(float64(low), float64(high))), at)
			}
		}
		bar(s.LeastMs, s.MostMs, 1)
		bar(s.MeanMs-s.DeviationMs, s.MeanMs+s.DeviationMs, 4)
		if !s.MeanMs.Known() {
			continue
		}
		c.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: 3.4, Shape: draw.CircleGlyph{}}, vg.Point{X: x(float64(s.MeanMs)), Y: at})
		label := style(textSize, muted)
		c.FillText(label, vg.Point{X: min(x(float64(s.MeanMs))+6, c.Max.X-60), Y: at + 5}, tuning.Digits(s.MeanMs)+" ms")
	}
}
