package report

import (
	"fmt"
	"image/color"
	"os"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Ingest is what a collector took from ever more clients.
type Ingest struct {
	// Capacity is the answer in a sentence, Findings are further ones.
	Capacity string
	Findings []string
	Steps    []IngestStep
	// Stages are those of the step with the most rows a second, in the order of a sample's way.
	Stages []IngestStage
	// Scaling is rows a second over clients; nil where there is too little to say.
	Scaling *tuning.Scaling
	// Run is what was run, on what.
	Run   []Entry
	Notes []string
}

// IngestStep is what so many clients brought; what is not known is Unknown.
type IngestStep struct {
	Clients                              int
	RowsPerS, AckedRowsPerS, SamplesPerS Figure
	SamplesPerCPUSecond                  Figure // of the server
	AckP50Ms, AckP99Ms, AckP999Ms        Figure
	Rejected                             int // answers that there was no room
	ServerMiB                            Figure
	WireBytes, JournalBytes, DiskBytes   Figure // a sample
}

// IngestStage is how long a stage took, ms.
type IngestStage struct {
	Name, Of             string // what it is of: a batch, a write ...
	Count                uint64
	P50Ms, P99Ms, P999Ms Figure
}

// OfIngest shows what a collector took.
func OfIngest(i *Ingest) *Analysis {
	a := &Analysis{Title: "What the collector takes", Findings: append([]string{i.Capacity}, i.Findings...), notes: i.Notes}
	steps := table{Heads: []string{"Clients", "Rows/s", "Acknowledged rows/s", "Samples/s", "Samples a server CPU-second", "Ack p50, ms", "p99, ms", "p999, ms", "Rejected",
		"Server MiB", "Wire, bytes a sample", "Journal", "Store"}}
	for range steps.Heads {
		steps.Numeric = append(steps.Numeric, true)
	}
	for _, s := range i.Steps {
		row := []string{strconv.Itoa(s.Clients)}
		for _, f := range []Figure{s.RowsPerS, s.AckedRowsPerS, s.SamplesPerS, s.SamplesPerCPUSecond} {
			row = append(row, whole(f))
		}
		row = append(row, tuning.Digits(s.AckP50Ms), tuning.Digits(s.AckP99Ms), tuning.Digits(s.AckP999Ms), strconv.Itoa(s.Rejected), whole(s.ServerMiB))
		steps.Rows = append(steps.Rows, append(row, tuning.Digits(s.WireBytes), tuning.Digits(s.JournalBytes), tuning.Digits(s.DiskBytes)))
	}
	a.add("Clients", steps)
	stages := table{Heads: []string{"Stage", "Of", "Count", "p50, ms", "p99, ms", "p999, ms"}, Numeric: []bool{false, false, true, true, true, true}}
	for _, s := range i.Stages {
		stages.Rows = append(stages.Rows, []string{s.Name, s.Of, tuning.Grouped(strconv.FormatUint(s.Count, 10)), tuning.Digits(s.P50Ms), tuning.Digits(s.P99Ms), tuning.Digits(s.P999Ms)})
	}
	a.add("Stages", stages)
	a.Charts = []Chart{i.saturation(), i.latency()}
	if len(i.Stages) > 0 {
		a.Charts = append(a.Charts, i.stages())
	}
	return a
}

// whole is a figure without digits behind the point.
func whole(f Figure) string {
	if !f.Known() {
		return "–"
	}
	return tuning.Grouped(strconv.FormatFloat(float64(f), 'f', 0, 64))
}

// curve is a figure over the steps' clients, as a line and, where hollow is set, points that are hollow where the collector had no room.
func (i *Ingest) curve(name string, colour int, figure func(IngestStep) Figure, points bool) (all []marks) {
	x := floats(i.Steps, func(s IngestStep) Figure { return Figure(s.Clients) })
	y := floats(i.Steps, figure)
	all = []marks{{name: name, colour: workerColour(colour), joined: true, x: x, y: y}}
	if points {
		dots := marks{colour: workerColour(colour), x: x, y: y}
		for _, s := range i.Steps {
			dots.verdicts = append(dots.verdicts, s.Rejected == 0)
		}
		all = append(all, dots)
	}
	return all
}

// saturation is the curve of rows over clients.
func (i *Ingest) saturation() Chart {
	c := Chart{Name: "saturation", Title: "Rows a second over clients (hollow: the collector had no room for some batches)", xLabel: "clients", yLabel: "rows/s", limit: Unknown}
	c.marks = append(i.curve("until queries have them", 0, func(s IngestStep) Figure { return s.RowsPerS }, true),
		i.curve("until acknowledged", 1, func(s IngestStep) Figure { return s.AckedRowsPerS }, false)...)
	return c
}

func (i *Ingest) latency() Chart {
	c := Chart{Name: "acknowledgement", Title: "Time from a batch's sending to its acknowledgement, fsync included", xLabel: "clients", yLabel: "ms", logY: true, limit: Unknown}
	for n, q := range []struct {
		name   string
		figure func(IngestStep) Figure
	}{{"p50", func(s IngestStep) Figure { return s.AckP50Ms }}, {"p99", func(s IngestStep) Figure { return s.AckP99Ms }}, {"p999", func(s IngestStep) Figure { return s.AckP999Ms }}} {
		c.marks = append(c.marks, i.curve(q.name, n, q.figure, false)...)
	}
	return c
}

func (i *Ingest) stages() Chart {
	c := Chart{Name: "stages", Title: "Time of each stage of a sample's way, with the most rows a second", yLabel: "ms", logY: true, limit: Unknown}
	for n, s := range i.Stages {
		c.xNames = append(c.xNames, plot.Tick{Value: float64(n + 1), Label: s.Name})
	}
	dots := func(name string, colour color.RGBA, figure func(IngestStage) Figure) {
		m := marks{name: name, colour: colour, y: floats(i.Stages, figure)}
		for n := range i.Stages {
			m.x = append(m.x, float64(n+1))
		}
		c.marks = append(c.marks, m)
	}
	dots("p50", workerColour(0), func(s IngestStage) Figure { return s.P50Ms })
	dots("p99", workerColour(1), func(s IngestStage) Figure { return s.P99Ms })
	dots("p999", workerColour(2), func(s IngestStage) Figure { return s.P999Ms })
	return c
}

// HTML is the report as one page that needs nothing beside it.
func (i *Ingest) HTML() ([]byte, error) {
	a := OfIngest(i)
	p := &page{title: a.Title, lead: i.Capacity}
	p.add("The saturation curve", drawn(a.Charts[0].drawing()), list(i.Findings))
	for _, s := range a.tables {
		p.add(s.title, tabled(s.table))
	}
	for n := range a.Charts[1:] {
		c := &a.Charts[n+1]
		p.add(strings.ToUpper(c.Name[:1])+c.Name[1:], drawn(c.drawing()))
	}
	if i.Scaling != nil {
		s := OfScaling(i.Scaling)
		p.add(s.Title, s.blocks()...)
	}
	p.add("What ran", tabled(entryTable(i.Run)))
	p.add("Notes", list(i.Notes))
	return p.HTML()
}

// Write writes the page ingest.html, and other files by their names, into dir.
func (i *Ingest) Write(dir string, others map[string][]byte) error {
	html, err := i.HTML()
	if err != nil {
		return fmt.Errorf("make ingest.html: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeFiles(dir, others); err != nil {
		return err
	}
	return writeFiles(dir, map[string][]byte{"ingest.html": html})
}
