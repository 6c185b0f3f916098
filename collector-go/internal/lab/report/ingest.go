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
	Stages []NamedStage
	// Scaling is the analysis of rows per second over clients. It is nil if there are too few steps.
	Scaling *tuning.Scaling
	// Run says what was run and on which machine.
	Run   []runstore.Entry
	Notes []string
}

// IngestStep is the result with one number of clients. A rate or size of 0 was not measured.
type IngestStep struct {
	Clients int `json:"clients"`
	// Rows and Samples count what was written and checked. One further row of each host only closed the last slices.
	Rows    int     `json:"rows"`
	Samples int     `json:"samples"`
	Seconds float64 `json:"seconds"`
	// RowsPerS and SamplesPerS are over the time until every slice can be queried. AckedRowsPerS is over the time
	// until the last acknowledgement.
	RowsPerS      float64 `json:"rows_per_s"`
	SamplesPerS   float64 `json:"samples_per_s"`
	AckedRowsPerS float64 `json:"acknowledged_rows_per_s"`
	// SamplesPerCPUSecond uses the server's CPU without that of definitions and of the checking queries. It is 0 if
	// the CPU could not be measured.
	SamplesPerCPUSecond float64                `json:"samples_per_server_cpu_second"`
	CPUSeconds          float64                `json:"server_cpu_seconds"`
	DefiningCPUSeconds  float64                `json:"server_cpu_seconds_of_definitions"`
	Ack                 Quantiles              `json:"ack_ms"`
	Stages              map[string]IngestStage `json:"stages"`
	// Rejected is how often the collector refused a batch for lack of capacity; refused batches are sent again.
	Rejected  int     `json:"rejected"`
	ServerMiB float64 `json:"server_rss_mib"`
	WireBytes float64 `json:"wire_bytes_per_sample"`
	Journal   float64 `json:"journal_bytes_per_sample"`
	// Disk is the size of the store, including its index, after everything was written to parts. It is nil if unknown.
	Disk    *float64 `json:"disk_bytes_per_sample"`
	Written *float64 `json:"written_bytes_per_sample"`
	// Workers is the number of workers that these samples/s correspond to, with WorkerSamples each.
	Workers int `json:"workers"`
	// EndedBy is the reason why sending ended: duration, rows, or window (the day for which samples are accepted).
	EndedBy string `json:"ended_by"`
	// SaturatedBy is the reason why the curve ended at this step; "" for all but the last step.
	SaturatedBy string `json:"saturated_by,omitempty"`
	Best        bool   `json:"best,omitempty"`
}

// Quantiles are quantiles of a duration, in ms.
type Quantiles struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
}

// IngestStage states how long one stage took, in ms, and how often it ran. It runs once per batch, per group of batches
// (journal), or per write to the store (write). The counts of different stages are therefore not comparable.
type IngestStage struct {
	Count uint64 `json:"count"`
	Quantiles
}

// NamedStage is a stage with its name and its unit of work, for example a batch or a write.
type NamedStage struct {
	Name, Of string
	IngestStage
}

// disk returns the bytes per sample in the store.
func disk(s IngestStep) Figure {
	if s.Disk == nil {
		return Unknown
	}
	return Figure(*s.Disk)
}

// known returns a number as a figure. 0 is unknown, because a step without rows has no throughput.
func known(v float64) Figure {
	return positive(Figure(v))
}

// OfIngest returns the document about how much a collector accepts.
func OfIngest(i *Ingest) *document.Document {
	d := &document.Document{
		Title: "Ingest capacity of the collector", Findings: append([]string{i.Capacity}, i.Findings...), Notes: i.Notes,
	}
	type step = IngestStep
	type stage = NamedStage
	d.Add("Clients", document.Tabled(document.TableOf(i.Steps,
		countColumn("Clients", func(s step) int { return s.Clients }),
		figureColumn("Rows/s", "", 0, func(s step) Figure { return known(s.RowsPerS) }),
		figureColumn("Acknowledged rows/s", "", 0, func(s step) Figure { return known(s.AckedRowsPerS) }),
		figureColumn("Samples/s", "", 0, func(s step) Figure { return known(s.SamplesPerS) }),
		figureColumn("Samples per CPU-second of the server", "", 0, func(s step) Figure { return known(s.SamplesPerCPUSecond) }),
		digitsColumn("Ack p50", "ms", func(s step) Figure { return known(s.Ack.P50) }),
		digitsColumn("p99", "ms", func(s step) Figure { return known(s.Ack.P99) }),
		digitsColumn("p999", "ms", func(s step) Figure { return known(s.Ack.P999) }),
		countColumn("Rejected", func(s step) int { return s.Rejected }),
		figureColumn("Server", "MiB", 0, func(s step) Figure { return known(s.ServerMiB) }),
		digitsColumn("Wire", "bytes per sample", func(s step) Figure { return known(s.WireBytes) }),
		digitsColumn("Journal", "bytes per sample", func(s step) Figure { return known(s.Journal) }),
		digitsColumn("Store", "bytes per sample", disk),
	)))
	d.Add("Stages", document.Tabled(document.TableOf(i.Stages,
		document.Text("Stage", func(s stage) string { return s.Name }),
		document.Text("Of", func(s stage) string { return s.Of }),
		samplesColumn("Count", func(s stage) uint64 { return s.Count }),
		digitsColumn("p50", "ms", func(s stage) Figure { return known(s.P50) }),
		digitsColumn("p99", "ms", func(s stage) Figure { return known(s.P99) }),
		digitsColumn("p999", "ms", func(s stage) Figure { return known(s.P999) }),
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
	queryable := i.curve("until visible to queries", 0, func(s IngestStep) Figure { return known(s.RowsPerS) })
	dots := queryable
	dots.Name, dots.Joined = "", false
	dots.Full = tuning.Each(i.Steps, func(s IngestStep) bool { return s.Rejected == 0 })
	return newPlot("saturation", "Rows per second over clients (hollow: the collector rejected some batches)",
		"clients", "rows/s", queryable, dots,
		i.curve("until acknowledged", 1, func(s IngestStep) Figure { return known(s.AckedRowsPerS) }))
}

// latency draws the time from sending a batch to its acknowledgement, which includes the sync to disk. The axis is
// logarithmic, because the slowest batches are far above the median.
func (i *Ingest) latency() chart.Plot {
	plot := newPlot("acknowledgement", "Time from sending a batch to its acknowledgement, including the fsync",
		"clients", "ms", i.curve("p50", 0, func(s IngestStep) Figure { return known(s.Ack.P50) }),
		i.curve("p99", 1, func(s IngestStep) Figure { return known(s.Ack.P99) }),
		i.curve("p999", 2, func(s IngestStep) Figure { return known(s.Ack.P999) }))
	plot.LogY = true
	return plot
}

// stages draws the percentiles of all stages side by side, in the step with the most rows per second.
func (i *Ingest) stages() chart.Plot {
	plot := newPlot("stages", "Time of each stage, in the step with the most rows per second", "", "ms")
	plot.LogY = true
	var place []float64
	for n, s := range i.Stages {
		plot.XNames, place = append(plot.XNames, s.Name), append(place, float64(n+1))
	}
	for n, p := range []struct {
		name string
		of   func(NamedStage) Figure
	}{
		{"p50", func(s NamedStage) Figure { return known(s.P50) }},
		{"p99", func(s NamedStage) Figure { return known(s.P99) }},
		{"p999", func(s NamedStage) Figure { return known(s.P999) }},
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
