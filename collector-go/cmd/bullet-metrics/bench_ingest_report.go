package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// text prints the result for people; out is where the report is.
func (r *ingestResult) text(to io.Writer, out string) error {
	text := report.OfIngest(r.report()).Text()
	if out != noReport {
		text += "\nReport: " + filepath.Join(out, "ingest.html") + "\n"
	}
	_, err := io.WriteString(to, text)
	return err
}

// write writes the report, the result, and the curve for tune analyze scaling; nothing where dir is noReport.
func (r *ingestResult) write(dir string) error {
	if dir == noReport {
		return nil
	}
	var result, curve bytes.Buffer
	if err := printJSON(&result, r); err != nil {
		return err
	}
	curve.WriteString("senders,rows_per_s\n")
	for _, s := range r.Steps {
		if s.Rows > 0 {
			fmt.Fprintf(&curve, "%d,%s\n", s.Clients, strconv.FormatFloat(s.RowsPerS, 'f', 1, 64))
		}
	}
	return r.report().Write(dir, map[string][]byte{"result.json": result.Bytes(), "scaling.csv": curve.Bytes()})
}

// best is the step with the most rows a second.
func (r *ingestResult) best() *bench.Step { return &r.Steps[bench.Best(r.Steps)] }

// stageOf states what one passing of a stage is.
var stageOf = map[string]string{"accept": "a batch, decoded and queued, without fsync",
	"journal": "a write and fsync of what waits", "extract": "a batch, from the journal into slices",
	"write": "what is handed to the store at once"}

func (r *ingestResult) report() *report.Ingest {
	i := &report.Ingest{Capacity: r.capacity(), Findings: []string{r.full()}, Notes: r.notes()}
	var rows []tuning.ScalingRow
	for _, s := range r.Steps {
		i.Steps = append(i.Steps, report.IngestStep{Clients: s.Clients, RowsPerS: figure(s.RowsPerS),
			AckedRowsPerS: figure(s.AckedRowsPerS), SamplesPerS: figure(s.SamplesPerS),
			SamplesPerCPUSecond: figure(s.SamplesPerCPUSecond), AckP50Ms: figure(s.Ack.P50),
			AckP99Ms: figure(s.Ack.P99), AckP999Ms: figure(s.Ack.P999), Rejected: s.Rejected,
			ServerMiB: figure(s.ServerMiB), WireBytes: figure(s.WireBytes), JournalBytes: figure(s.Journal),
			DiskBytes: optional(s.Disk)})
		if s.Rows > 0 {
			rows = append(rows, tuning.ScalingRow{Size: float64(s.Clients), Throughput: s.RowsPerS})
		}
	}
	for _, name := range bench.StageNames() {
		if s, there := r.Stages[name]; there {
			i.Stages = append(i.Stages, report.IngestStage{Name: name, Of: stageOf[name], Count: s.Count,
				P50Ms: figure(s.P50), P99Ms: figure(s.P99), P999Ms: figure(s.P999)})
		}
	}
	if scaling, err := tuning.AnalyzeScaling(rows, tuning.ScalingColumns{Size: "senders", Throughput: "rows_per_s"},
		tuning.DefaultDiscount, tuning.DefaultConfidence); err == nil {
		i.Scaling = scaling
	}
	s := r.Settings
	target := s.Target
	if target == "" {
		target = "a collector of its own, on loopback"
	}
	entry := func(key, format string, args ...any) {
		i.Run = append(i.Run, runstore.Entry{Key: key, Value: fmt.Sprintf(format, args...)})
	}
	entry("version", "%s", r.Version)
	entry("collector", "%s", target)
	entry("machine", "%s, %d cores, %.1f GiB, %s", r.Machine.CPUModel, r.Machine.Cores,
		float64(r.Machine.MemoryBytes)/(1<<30), r.Machine.Kernel)
	entry("rows", "%d hosts, %d metrics and %d tags a row, seed %d, one every %g s, slices of %g s", s.Hosts, s.Metrics,
		s.Tags, s.Seed, s.StepS, s.SliceWidthS)
	entry("sending", "%d rows a batch, %d batches in flight a client, %g s a step (--duration), %s rows at most",
		s.RowsPerBatch, s.InFlight, s.DurationS, orNone(s.Rows))
	entry("journal", "acknowledged after fsync")
	return i
}

func orNone(n int) string {
	if n == 0 {
		return "any number of"
	}
	return strconv.Itoa(n)
}

// figure is one that is unknown where it is 0.
func figure(v float64) tuning.Figure {
	if v == 0 {
		return tuning.Unknown
	}
	return tuning.Figure(v)
}

func optional(v *float64) tuning.Figure {
	if v == nil {
		return tuning.Unknown
	}
	return tuning.Figure(*v)
}

// capacity is the answer in a sentence.
func (r *ingestResult) capacity() string {
	b := r.best()
	where := "This collector on this machine"
	if r.Settings.Target != "" {
		where = "The collector at " + r.Settings.Target
	}
	return fmt.Sprintf("%s takes %s workers of your kind (%s samples/s each): %s rows/s, %s samples/s, from %s.",
		where, tuning.Digits(tuning.Figure(b.Workers)),
		tuning.Digits(tuning.Figure(r.Settings.WorkerSamples)), tuning.Digits(tuning.Figure(b.RowsPerS)),
		tuning.Digits(tuning.Figure(b.SamplesPerS)), tuning.Counted(b.Clients, "client"))
}

// full states where the curve ended.
func (r *ingestResult) full() string {
	last := r.Steps[len(r.Steps)-1]
	switch last.SaturatedBy {
	case bench.ByRejections:
		return fmt.Sprintf("It was full at %s: %d batches were answered with FULL and sent again; nothing was lost.",
			tuning.Counted(last.Clients, "client"), last.Rejected)
	case bench.ByThroughput:
		return fmt.Sprintf("It was full at %s: more of them brought no more rows.",
			tuning.Counted(r.best().Clients, "client"))
	}
	return fmt.Sprintf("%s did not show that it is full; the capacity may be more.",
		tuning.Counted(last.Clients, "client"))
}

// notes are what a reader must know.
func (r *ingestResult) notes() []string {
	notes := []string{
		"Count and sum of every metric were read back through queries in each step, and are what was sent.",
		"Rows/s are all rows sent over the time until queries have them; acknowledged rows/s end with the last fsync.",
	}
	if r.Settings.Target == "" {
		notes = append(notes,
			"Clients and collector share this machine. CPU is the collector's by the operating system, until all is on disk in parts, without defining the series.")
	} else {
		notes = append(notes,
			"CPU and memory are those that the collector states of itself, and contain what others send and ask; the store's bytes are those of the parts that it wrote meanwhile.")
	}
	short := map[string]bool{}
	for _, s := range r.Steps {
		if s.EndedBy == "window" && !short["window"] {
			short["window"] = true
			notes = append(notes,
				"A step ended before its time, since the day in which samples are taken was used up: give a smaller --step or more --hosts.")
		}
	}
	if strings.TrimSpace(r.Machine.CPUModel) == "" {
		notes = append(notes, "The machine's processor is not known.")
	}
	return notes
}
