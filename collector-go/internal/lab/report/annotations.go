package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// The tags of annotations that the figures show in another way: steps as bands, restarts as lines in the worker's
// colour.
const (
	stepTag    = "step"
	restartTag = "restart"
)

// Bounds of what is shown; report.json has all.
const (
	mostDrawn         = 30
	mostAnnotationRow = 60
)

// annotated are the report's annotations but for its steps, by time.
func (r *Report) annotated() (all []runstore.Annotation) {
	for _, m := range r.Annotations {
		if !slices.Contains(m.Tags, stepTag) {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b runstore.Annotation) int { return int(a.StartMs - b.StartMs) })
	return all
}

// annotations are those on the figures' time axis, numbered; the table names them by the same numbers.
func (r *Report) annotations() (all []chart.Annotation) {
	for _, m := range r.annotated() {
		if r.drawn(m) && len(all) < mostDrawn {
			name := strconv.Itoa(len(all) + 1)
			all = append(all, chart.Annotation{Ms: m.StartMs, Name: name, Title: m.Title, Colour: chart.Change})
		}
	}
	return all
}

// restarts are those of workers that lie on the figures' time axis. A worker's first process is no restart.
func (r *Report) restarts() (all []chart.Restart) {
	for i, w := range r.Workers {
		for _, ms := range w.RestartsMs {
			all = append(all, chart.Restart{Ms: ms, Colour: chart.Series(i)})
		}
	}
	return all
}

// sameRestart is how far a restart's annotation may be from the worker's own start.
const sameRestart = int64(2000)

// drawn reports whether an annotation is on the time axis and not there already as a worker's restart.
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

// annotationBlocks are the annotations with their texts, in words.
func (r *Report) annotationBlocks() []document.Block {
	if r.Annotations == nil {
		return []document.Block{document.Paragraph("What was annotated meanwhile is not kept with these figures.")}
	}
	all, onAxis := r.annotated(), 0
	if len(all) == 0 {
		return []document.Block{document.Paragraph("Nothing was annotated meanwhile but the steps.")}
	}
	t := document.NewTable(document.Numbers("Mark", ""), document.Numbers("At", ""),
		document.Words("What"), document.Words("Text"), document.Words("Tags"))
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
		blocks = append(blocks, document.Paragraph("%s more in report.json.", numbered(more, "annotation")))
	}
	return blocks
}
