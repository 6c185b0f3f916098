package report

import (
	"fmt"
	"os"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// Ingest is the result of the bench that measures how much a collector accepts from an increasing number of clients.
// The bench fills it; this package only shows it.
type Ingest struct {
	// Capacity is the main result in a sentence. Findings are further sentences.
	Capacity string
	Findings []string
	Steps    []IngestStep
	// Stages are those of the step with the most rows per second, in the order in which a sample passes them.
	Stages []IngestStage
	// Scaling is the analysis of rows per second over clients. It is nil if there are too few steps.
	Scaling *tuning.Scaling
	// Run says what was run and on which machine.
	Run   []runstore.Entry
	Notes []string
}

// IngestStep is the result for one number of clients. Figures that were not measured are Unknown. Rejected counts
// batches that the collector refused because it had no capacity; the clients sent them again.
type IngestStep struct {
	Clients                              int
	RowsPerS, AckedRowsPerS, SamplesPerS Figure
	SamplesPerCPUSecond                  Figure // per CPU-second of the server
	AckP50Ms, AckP99Ms, AckP999Ms        Figure
	Rejected                             int // batches that were refused for lack of capacity
	ServerMiB                            Figure
	WireBytes, JournalBytes, DiskBytes   Figure // per sample
}

// IngestStage is the duration of one stage, in ms. Its unit need not be a batch: it may be a write of several batches.
type IngestStage struct {
	Name, Of             string // the unit: a batch, a write ...
	Count                uint64
	P50Ms, P99Ms, P999Ms Figure
}

// OfIngest returns the document about how much a collector accepts.
func OfIngest(i *Ingest) *document.Document {
	d := &document.Document{
		Title: "Ingest capacity of the collector", Findings: append([]string{i.Capacity}, i.Findings...), Notes: i.Notes,
	}
	type step = IngestStep
	type stage = IngestStage
	d.Add("Clients", document.Tabled(document.TableOf(i.Steps,
		countColumn("Clients", func(s step) int { return s.Clients }),
		figureColumn("Rows/s", "", 0, func(s step) Figure { return s.RowsPerS }),
		figureColumn("Acknowledged rows/s", "", 0, func(s step) Figure { return s.AckedRowsPerS }),
		figureColumn("Samples/s", "", 0, func(s step) Figure { return s.SamplesPerS }),
		figureColumn("Samples per CPU-second of the server", "", 0, func(s step) Figure { return s.SamplesPerCPUSecond }),
		digitsColumn("Ack p50", "ms", func(s step) Figure { return s.AckP50Ms }),
		digitsColumn("p99", "ms", func(s step) Figure { return s.AckP99Ms }),
		digitsColumn("p999", "ms", func(s step) Figure { return s.AckP999Ms }),
		countColumn("Rejected", func(s step) int { return s.Rejected }),
		figureColumn("Server", "MiB", 0, func(s step) Figure { return s.ServerMiB }),
		digitsColumn("Wire", "bytes per sample", func(s step) Figure { return s.WireBytes }),
		digitsColumn("Journal", "bytes per sample", func(s step) Figure { return s.JournalBytes }),
		digitsColumn("Store", "bytes per sample", func(s step) Figure { return s.DiskBytes }),
	)))
	d.Add("Stages", document.Tabled(document.TableOf(i.Stages,
		document.Text("Stage", func(s stage) string { return s.Name }),
		document.Text("Of", func(s stage) string { return s.Of }),
		samplesColumn("Count", func(s stage) uint64 { return s.Count }),
		digitsColumn("p50", "ms", func(s stage) Figure { return s.P50Ms }),
		digitsColumn("p99", "ms", func(s stage) Figure { return s.P99Ms }),
		digitsColumn("p999", "ms", func(s stage) Figure { return s.P999Ms }),
	)))
	d.Draw(i.saturation(), i.latency())
	if len(i.Stages) > 0 {
		d.Draw(i.stages())
	}
	return d
}

// curve returns a figure over the number of clients as a line.
func (i *Ingest) curve(name string, colour int, figure func(IngestStep) Figure) chart.Points {
	points := measuredPoints(name, colour, i.Steps, func(s IngestStep) Figure { return Figure(s.Clients) }, figure)
	points.Joined = true
	return points
}

// saturation draws rows per second over clients. A point is hollow if the collector refused batches, because it was at
// its limit there.
func (i *Ingest) saturation() chart.Plot {
	queryable := i.curve("until visible to queries", 0, func(s IngestStep) Figure { return s.RowsPerS })
	dots := queryable
	dots.Name, dots.Joined = "", false
	dots.Full = each(i.Steps, func(s IngestStep) bool { return s.Rejected == 0 })
	return chart.Plot{
		Name: "saturation", Title: "Rows per second over clients (hollow: the collector rejected some batches)",
		XLabel: "clients", YLabel: "rows/s", Limit: chart.NoLimit, Points: []chart.Points{queryable, dots,
			i.curve("until acknowledged", 1, func(s IngestStep) Figure { return s.AckedRowsPerS })},
	}
}

// latency draws the time from sending a batch to its acknowledgement, which includes the sync to disk. The axis is
// logarithmic, because the slowest batches are far above the median.
func (i *Ingest) latency() chart.Plot {
	return chart.Plot{
		Name: "acknowledgement", Title: "Time from sending a batch to its acknowledgement, including the fsync",
		XLabel: "clients", YLabel: "ms", LogY: true, Limit: chart.NoLimit, Points: []chart.Points{
			i.curve("p50", 0, func(s IngestStep) Figure { return s.AckP50Ms }),
			i.curve("p99", 1, func(s IngestStep) Figure { return s.AckP99Ms }),
			i.curve("p999", 2, func(s IngestStep) Figure { return s.AckP999Ms }),
		},
	}
}

// stages draws the percentiles of all stages side by side, in the step with the most rows per second.
func (i *Ingest) stages() chart.Plot {
	plot := chart.Plot{
		Name: "stages", Title: "Time of each stage, in the step with the most rows per second",
		YLabel: "ms", LogY: true, Limit: chart.NoLimit,
	}
	var place []float64
	for n, s := range i.Stages {
		plot.XNames, place = append(plot.XNames, s.Name), append(place, float64(n+1))
	}
	for n, p := range []struct {
		name string
		of   func(IngestStage) Figure
	}{
		{"p50", func(s IngestStage) Figure { return s.P50Ms }},
		{"p99", func(s IngestStage) Figure { return s.P99Ms }},
		{"p999", func(s IngestStage) Figure { return s.P999Ms }},
	} {
		points := measuredPoints(p.name, n, i.Stages, p.of, p.of)
		points.X = place
		plot.Points = append(plot.Points, points)
	}
	return plot
}

// HTML returns the report as one self-contained page. The saturation curve is on the first screen.
func (i *Ingest) HTML() ([]byte, error) {
	d := OfIngest(i)
	d.Lead, d.Findings, d.Main, d.Figures = i.Capacity, i.Findings, &d.Figures[0], d.Figures[1:]
	if i.Scaling != nil {
		s := OfScaling(i.Scaling)
		d.Add(s.Title, s.Blocks()...)
	}
	d.Add("Versions and machines", document.Tabled(entryTable("", "", i.Run)))
	return d.HTML()
}

// Write writes ingest.html and the other files, by their names, into dir. It adds the page to others.
func (i *Ingest) Write(dir string, others map[string][]byte) error {
	html, err := i.HTML()
	if err != nil {
		return fmt.Errorf("make ingest.html: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	others["ingest.html"] = html
	return writeFiles(dir, others)
}
