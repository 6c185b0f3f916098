package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Step is the result with one number of clients, as the report shows it.
type Step = report.IngestStep

// Stage is how long one stage took, and Quantiles are quantiles of a duration in ms.
type Stage = report.IngestStage
type Quantiles = report.Quantiles

// IngestResult is the result of a whole curve of `bench ingest`, as JSON that other programs read. Units end the keys,
// and unknown values are null. The first figures are those of the step with the most rows/s, which is the capacity;
// rejected is the sum over all steps.
type IngestResult struct {
	RowsPerS            float64          `json:"rows_per_s"`
	SamplesPerS         float64          `json:"samples_per_s"`
	SamplesPerCPUSecond float64          `json:"samples_per_server_cpu_second"`
	Ack                 Quantiles        `json:"ack_ms"`
	Stages              map[string]Stage `json:"stages"`
	DiskBytesPerSample  *float64         `json:"disk_bytes_per_sample"`
	ServerRSSMiB        float64          `json:"server_rss_mib"`
	Rejected            int              `json:"rejected"`
	Steps               []Step           `json:"steps"`
	Run
	Settings IngestSettings `json:"settings"`
}

// IngestSettings are the parameters of a run, so that it can be repeated and two results can be compared.
type IngestSettings struct {
	Target        string  `json:"target"`
	Seed          uint64  `json:"seed"`
	Hosts         int     `json:"hosts"`
	Metrics       int     `json:"metrics"`
	Tags          int     `json:"tags"`
	Rows          int     `json:"rows"`
	RowsPerBatch  int     `json:"rows_per_batch"`
	InFlight      int     `json:"in_flight"`
	StepS         float64 `json:"step_s"`
	SliceWidthS   float64 `json:"slice_width_s"`
	DurationS     float64 `json:"duration_s"`
	WorkerSamples float64 `json:"worker_samples_per_s"`
}

// Run describes a measurement's environment: the machine, the program and the collector.
type Run struct {
	Machine runstore.Machine `json:"machine"`
	Version string           `json:"version"`
	// Target is the address of a remote collector; "" if the run started its own.
	Target string `json:"-"`
}

// Result combines the steps of a curve. It marks the best step, and sets in the last step why the curve ended. If no
// step has rows there is no result, and the error says that the collector admitted no client.
func (o *Ingest) Result(steps []Step, by string, run Run) (*IngestResult, error) {
	best := &steps[Best(steps)]
	if best.Rows == 0 {
		return nil, errors.New("the collector accepts no more streams (limits.streams); close senders or raise the limit")
	}
	best.Best, steps[len(steps)-1].SaturatedBy = true, by
	r := &IngestResult{RowsPerS: best.RowsPerS, SamplesPerS: best.SamplesPerS,
		SamplesPerCPUSecond: best.SamplesPerCPUSecond, Ack: best.Ack, Stages: best.Stages,
		DiskBytesPerSample: best.Disk, ServerRSSMiB: best.ServerMiB, Steps: steps, Run: run,
		Settings: IngestSettings{Target: run.Target, Seed: o.Seed, Hosts: o.Hosts, Metrics: o.Metrics, Tags: 10,
			Rows: o.MostRows, RowsPerBatch: o.RowsPerBatch, InFlight: o.InFlight, StepS: o.Step.Seconds(),
			SliceWidthS: o.Width.Seconds(), DurationS: o.Duration.Seconds(), WorkerSamples: o.WorkerSamples}}
	for _, s := range steps {
		r.Rejected += s.Rejected
	}
	return r, nil
}

// Text returns the report as text.
func (r *IngestResult) Text() string { return report.OfIngest(r.report()).Text() }

// Write writes the report as HTML, the result as JSON, and the curve as CSV for tune analyze scaling.
func (r *IngestResult) Write(dir string) error {
	var result, curve bytes.Buffer
	encoder := json.NewEncoder(&result)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
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

// best returns the step with the most rows/s.
func (r *IngestResult) best() *Step { return &r.Steps[Best(r.Steps)] }

// report returns the content of the report. It contains a scaling law if the curve has enough steps to fit one.
func (r *IngestResult) report() *report.Ingest {
	i := &report.Ingest{Capacity: r.capacity(), Findings: []string{r.full()}, Steps: r.Steps, Notes: r.notes()}
	var rows []tuning.ScalingRow
	for _, s := range r.Steps {
		if s.Rows > 0 {
			rows = append(rows, tuning.ScalingRow{Size: float64(s.Clients), Throughput: s.RowsPerS})
		}
	}
	for _, stage := range stages {
		if s, there := r.Stages[stage.name]; there {
			i.Stages = append(i.Stages, report.NamedStage{Name: stage.name, Of: stage.of, IngestStage: s})
		}
	}
	if scaling, err := tuning.AnalyzeScaling(rows, tuning.ScalingColumns{Size: "senders", Throughput: "rows_per_s"},
		tuning.DefaultDiscount, tuning.DefaultConfidence); err == nil {
		i.Scaling = scaling
	}
	s := r.Settings
	target := cmp.Or(s.Target, "a collector of its own, on loopback")
	entry := func(key, format string, args ...any) {
		i.Run = append(i.Run, runstore.Entry{Key: key, Value: fmt.Sprintf(format, args...)})
	}
	atMost := "any number of"
	if s.Rows != 0 {
		atMost = strconv.Itoa(s.Rows)
	}
	entry("version", "%s", r.Version)
	entry("collector", "%s", target)
	entry("machine", "%s, %d cores, %.1f GiB, %s", r.Machine.CPUModel, r.Machine.Cores,
		float64(r.Machine.MemoryBytes)/(1<<30), r.Machine.Kernel)
	entry("rows", "%d hosts, %d metrics and %d tags a row, seed %d, one every %g s, slices of %g s", s.Hosts, s.Metrics,
		s.Tags, s.Seed, s.StepS, s.SliceWidthS)
	entry("sending", "%d rows a batch, %d batches in flight a client, %g s a step (--duration), %s rows at most",
		s.RowsPerBatch, s.InFlight, s.DurationS, atMost)
	entry("journal", "acknowledged after fsync")
	return i
}

// capacity states the result in a sentence. It counts workers of the reader's kind, because nobody plans in rows/s.
func (r *IngestResult) capacity() string {
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

// full states where the curve ended, and whether that is the collector's limit or only that of the measurement.
func (r *IngestResult) full() string {
	last := r.Steps[len(r.Steps)-1]
	switch last.SaturatedBy {
	case ByRejections:
		return fmt.Sprintf("Its capacity was reached at %s: %d batches were rejected with FULL and sent again; nothing was lost.",
			tuning.Counted(last.Clients, "client"), last.Rejected)
	case ByThroughput:
		return fmt.Sprintf("Its capacity was reached at %s: more clients did not increase the rows per second.",
			tuning.Counted(r.best().Clients, "client"))
	}
	return fmt.Sprintf("%s did not reach its capacity, which may be higher.", tuning.Counted(last.Clients, "client"))
}

// notes states what a reader must know to compare the result with another: what was verified, and what shared the
// machine.
func (r *IngestResult) notes() []string {
	notes := []string{
		"Count and sum of every metric were read back through queries in each step, and are what was sent.",
		"Rows/s are all rows sent over the time until queries have them; acknowledged rows/s end with the last fsync.",
	}
	if r.Settings.Target == "" {
		notes = append(notes,
			"Clients and collector share this machine. CPU is the collector's by the operating system, until all is on disk in parts, without defining the series.")
	} else {
		notes = append(notes,
			"CPU and memory are the collector's own figures, and include other senders and queries. The store's bytes are those of the parts that it wrote during the step.")
	}
	if slices.ContainsFunc(r.Steps, func(s Step) bool { return s.EndedBy == endedByWindow }) {
		notes = append(notes,
			"A step ended before its time, since the day in which samples are taken was used up: give a smaller --step or more --hosts.")
	}
	if strings.TrimSpace(r.Machine.CPUModel) == "" {
		notes = append(notes, "The machine's processor is not known.")
	}
	return notes
}
