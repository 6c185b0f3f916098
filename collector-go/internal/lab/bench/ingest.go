package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Ingest is how rows are sent to see what a collector takes.
type Ingest struct {
	Seed           uint64
	Hosts, Metrics int
	RowsPerBatch   int
	InFlight       int
	Step, Width    time.Duration
	Duration       time.Duration
	MostRows       int // of a step of the curve; 0 for no bound
	WorkerSamples  float64
	Program, Dir   string   // of an own collector
	More           []string // flags of it
	Remote         *Remote  // in its place; nil for an own one
}

// Remote is a collector that runs already.
type Remote struct {
	Target Target
	Server *Server
}

// Step is what so many clients brought.
type Step struct {
	Clients int `json:"clients"`
	// Rows and Samples are what was written and checked; a further row of each host closed the last slices.
	Rows    int     `json:"rows"`
	Samples int     `json:"samples"`
	Seconds float64 `json:"seconds"`
	// RowsPerS and SamplesPerS are what was checked over the time until every slice of it could be queried;
	// AckedRowsPerS counts up to the acknowledgement alone.
	RowsPerS      float64 `json:"rows_per_s"`
	SamplesPerS   float64 `json:"samples_per_s"`
	AckedRowsPerS float64 `json:"acknowledged_rows_per_s"`
	// SamplesPerCPUSecond is by the server's CPU without that of definitions and of the queries that check; 0 where it
	// could not be measured.
	SamplesPerCPUSecond float64          `json:"samples_per_server_cpu_second"`
	CPUSeconds          float64          `json:"server_cpu_seconds"`
	DefiningCPUSeconds  float64          `json:"server_cpu_seconds_of_definitions"`
	Ack                 Quantiles        `json:"ack_ms"`
	Stages              map[string]Stage `json:"stages"`
	// Rejected is how often the collector answered that it has no room for now; nothing of that is lost.
	Rejected  int     `json:"rejected"`
	ServerMiB float64 `json:"server_rss_mib"`
	WireBytes float64 `json:"wire_bytes_per_sample"`
	Journal   float64 `json:"journal_bytes_per_sample"`
	// Disk is the store's, index included, when all was in parts; nil where nothing was settled in time.
	Disk    *float64 `json:"disk_bytes_per_sample"`
	Written *float64 `json:"written_bytes_per_sample"`
	// Workers is how many workers of the kind that was asked about these samples are.
	Workers int `json:"workers"`
	// EndedBy is what ended the sending: duration, rows, or window, the day in which samples are taken.
	EndedBy string `json:"ended_by"`
	// SaturatedBy is why the curve ended here; "" for all but the last step.
	SaturatedBy string `json:"saturated_by,omitempty"`
	Best        bool   `json:"best,omitempty"`
}

// back is how far before now rows begin: what is older than a day is not taken, and the run takes time itself.
const back = 22 * time.Hour

// Validate names the option that makes no sense.
func (o *Ingest) Validate() error {
	switch {
	case o.Hosts < 1 || o.Hosts > 1_000_000:
		return fmt.Errorf("--hosts must be 1 to 1,000,000, not %d", o.Hosts)
	case o.RowsPerBatch < 1 || o.RowsPerBatch*o.Metrics > 250_000:
		return fmt.Errorf("--rows-per-batch must be 1 to %d, not %d: a batch has a bound", 250_000/o.Metrics,
			o.RowsPerBatch)
	case o.InFlight < 1:
		return errors.New("--in-flight must be at least 1")
	case o.Step < time.Second || o.Step%time.Second != 0 || o.Width%o.Step != 0 || o.Width < o.Step:
		return fmt.Errorf("--step must be whole seconds and --slice-width a multiple of it, not %s and %s",
			o.Step, o.Width)
	case o.Width > time.Hour:
		return fmt.Errorf("--slice-width must be at most 1h, not %s", o.Width)
	case o.Duration <= 0 && o.MostRows <= 0:
		return errors.New("give --duration or --rows above 0")
	case o.MostRows < 0 || o.MostRows > 0 && o.MostRows < o.Hosts*o.perSlice():
		return fmt.Errorf("--rows must be at least %d: a slice of every host", o.Hosts*o.perSlice())
	case o.WorkerSamples <= 0:
		return errors.New("--worker-samples must be above 0")
	}
	return nil
}

func (o *Ingest) perSlice() int { return int(o.Width / o.Step) }

// Closing is how many steps behind the last row that is measured a row closes the last slices that are.
func Closing(step, width time.Duration) int { return int((2*time.Minute+2*width)/step) + 1 }

// run is one step of a curve: a collector, the clients that send to it, and what was read of both. It is for one
// goroutine, and clear ends whatever of it was started, also after an error.
type run struct {
	*Ingest
	clients  int
	server   *Server
	measured Measured
	process  *Process // nil for one that runs already
	dir      string
	target   Target
	fleet    *Fleet
	topology string
	startMs  int64
	base     bases
	step     Step
}

// bases are the collector's figures before the first sample. Its counters count since its start, so that a step's
// figures are differences to these.
type bases struct {
	cpu                                  time.Duration
	inSlices                             int
	journal, flushedBytes, flushedSlices float64
	stages                               StageReading
}

// Measure sends rows from so many clients, waits until all answer, and checks that they do. A collector that has no
// room for so many streams gives a step with a rejection and no rows.
func (o *Ingest) Measure(ctx context.Context, clients int) (Step, error) {
	r := &run{Ingest: o, clients: clients, step: Step{Clients: clients}}
	defer r.clear()
	err := r.write(ctx)
	if Full(err) {
		return Step{Clients: clients, Rejected: 1}, nil
	}
	return r.step, err
}

// write sends the rows, checks them, and lets them settle. The order matters: figures are read before the first sample,
// and the disk only after the collector has ended.
func (r *run) write(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	if err := r.connect(ctx, r.startMs); err != nil {
		return err
	}
	if err := r.define(ctx); err != nil {
		return err
	}
	if err := r.send(ctx); err != nil {
		return err
	}
	return r.settle(ctx)
}

// connect opens the clients' streams; the first rows are of a time.
func (r *run) connect(ctx context.Context, startMs int64) (err error) {
	load := Load{Topology: r.topology, Clients: min(r.clients, r.Hosts), RowsPerBatch: r.RowsPerBatch,
		InFlight: r.InFlight, StartMs: startMs, Step: r.Step, Tags: true,
		Lead: max(16, r.perSlice())}
	r.fleet, err = Connect(ctx, r.target, NewRows(r.Seed, r.Hosts, r.Metrics), load)
	return err
}

// start starts an own collector, or takes the one that runs.
func (r *run) start(ctx context.Context) error {
	now := time.Now()
	r.startMs = now.Add(-back).UnixMilli()/r.Width.Milliseconds()*r.Width.Milliseconds() + r.Step.Milliseconds()
	r.topology = fmt.Sprintf("bench-%d-%d", now.Unix(), r.clients)
	if r.Remote != nil {
		r.server, r.measured, r.target = r.Remote.Server, r.Remote.Server, r.Remote.Target
		return nil
	}
	r.dir = r.Home(r.clients)
	return r.serve(ctx)
}

// Home is the directory of an own collector with so many clients.
func (o *Ingest) Home(clients int) string {
	return filepath.Join(o.Dir, fmt.Sprintf("clients-%d", clients))
}

// serve starts an own collector over the run's directory, with room for all of the load's series.
func (r *run) serve(ctx context.Context) error {
	p, target, err := StartCollector(ctx, r.Program, r.dir,
		append([]string{"--slice-width", r.Width.String(), "--limits-series-per-topology",
			fmt.Sprint(max(250_000, r.Hosts*r.Metrics*2))}, r.More...)...)
	if err != nil {
		return err
	}
	r.process, r.target, r.server, r.measured = p, target, p.Server, p
	return nil
}

// clear ends what was started, and removes what it kept. It may be called at any stage of a run.
func (r *run) clear() {
	if r.fleet != nil {
		r.fleet.Abandon()
	}
	if r.process != nil {
		r.process.Kill()
	}
	if r.dir != "" {
		_ = os.RemoveAll(r.dir) // below a temporary directory, which is removed at the end
	}
}

// define sends the definitions of all series and waits until the collector knows them. What that costs is a figure of
// its own: it happens once, however long samples come.
func (r *run) define(ctx context.Context) error {
	before, err := r.measured.CPU(ctx)
	if err != nil {
		return err
	}
	defined, err := r.server.Defined(ctx)
	if err != nil {
		return err
	}
	if err := r.fleet.Define(); err != nil {
		return fmt.Errorf("define %d series: %w", r.Hosts*r.Metrics, err)
	}
	if err := Await(ctx, defined+r.Hosts*r.Metrics, r.server.Defined); err != nil {
		return err
	}
	return r.read(ctx, before)
}

// read takes the figures before the first sample, and what defining the series has cost.
func (r *run) read(ctx context.Context, before time.Duration) (err error) {
	b := &r.base
	if b.cpu, err = r.measured.CPU(ctx); err != nil {
		return err
	}
	r.step.DefiningCPUSeconds = (b.cpu - before).Seconds()
	if b.inSlices, err = r.server.InSlices(ctx); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		to   *float64
	}{{journalBytes, &b.journal}, {flushedBytes, &b.flushedBytes}, {flushedSlices, &b.flushedSlices}} {
		if *f.to, err = r.server.Figure(ctx, f.name); err != nil {
			return err
		}
	}
	b.stages, err = r.server.ReadStages(ctx)
	return err
}

const (
	journalBytes  = "bullet_metrics_journal_appended_bytes_total"
	flushedBytes  = "bullet_metrics_embedded_flushed_bytes_total"
	flushedSlices = "bullet_metrics_embedded_flushed_slices_total"
)

// send sends for the run's time, waits until the collector has all of it in slices, and compares. Throughput is over
// the whole of that time, because what a collector has acknowledged and not processed is work still to do.
func (r *run) send(ctx context.Context) error {
	closes := Closing(r.Step, r.Width)
	window := int(back/r.Step) - closes - int(time.Minute/r.Step)
	most, by := window, endedByWindow
	if r.MostRows > 0 && r.MostRows/r.Hosts < most {
		most, by = r.MostRows/r.Hosts, "rows"
	}
	var until time.Time
	begun := time.Now()
	if r.Duration > 0 {
		until = begun.Add(r.Duration)
	}
	wire := r.fleet.WireBytes()
	steps, err := r.fleet.Send(ctx, most, r.perSlice(), until)
	if err == nil {
		err = r.fleet.Await()
	}
	if err != nil {
		return err
	}
	if r.step.EndedBy = by; steps < most/r.perSlice()*r.perSlice() {
		r.step.EndedBy = "duration"
	}
	s := &r.step
	acknowledged := time.Since(begun)
	s.Rows, s.Samples, s.Seconds = steps*r.Hosts, steps*r.Hosts*r.Metrics, acknowledged.Seconds()
	s.AckedRowsPerS = float64(s.Rows) / acknowledged.Seconds()
	s.Ack = r.fleet.Latency()
	s.WireBytes = float64(r.fleet.WireBytes()-wire) / float64(s.Samples)
	written := Written{Topology: r.topology, Hosts: r.Hosts, Metrics: r.Metrics, StartMs: r.startMs, Steps: steps,
		StepMs: r.Step.Milliseconds(), WidthMs: r.Width.Milliseconds(), Sums: r.fleet.Sums()}
	r.fleet.Skip(closes - 1)
	if _, err := r.fleet.Send(ctx, 1, 1, time.Time{}); err != nil {
		return err
	}
	s.Rejected = int(r.fleet.Fulls())
	if err := r.fleet.Close(); err != nil {
		return err
	}
	if err := Await(ctx, r.base.inSlices+s.Samples, r.server.InSlices); err != nil {
		return err
	}
	took := time.Since(begun)
	s.RowsPerS, s.SamplesPerS = float64(s.Rows)/took.Seconds(), float64(s.Samples)/took.Seconds()
	return r.check(ctx, written)
}

// endedByWindow is why a step ended whose rows reached the end of the day in which a collector takes samples.
const endedByWindow = "window"

// patience is how long what was written may take to answer, once enough is in slices: one client's may be behind the
// others'.
const patience = time.Minute

// check compares until what was written answers, at most for patience: the newest slices may close a moment later. The
// CPU of the comparing queries is taken off, since it is not the samples'.
func (r *run) check(ctx context.Context, written Written) error {
	before, err := r.measured.CPU(ctx)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	looking := time.NewTicker(awaitEvery)
	defer looking.Stop()
	for err = written.Check(ctx, r.server); err != nil && time.Now().Before(deadline) &&
		ctx.Err() == nil; err = written.Check(ctx, r.server) {
		select {
		case <-looking.C:
		case <-ctx.Done():
		}
	}
	if err != nil {
		return fmt.Errorf("what was written does not answer: %w", err)
	}
	after, err := r.measured.CPU(ctx)
	r.base.cpu += after - before
	return err
}

// settle takes what the collector has cost. An own collector is ended first, so that all its samples are on disk in
// parts and that work is counted; one that goes on running is taken as it is.
func (r *run) settle(ctx context.Context) error {
	s, all := &r.step, float64(r.step.Samples)
	s.Workers = int(s.SamplesPerS / r.WorkerSamples)
	resident, err := r.measured.Resident(ctx)
	if err != nil {
		return err
	}
	s.ServerMiB = float64(resident) / (1 << 20)
	stages, err := r.server.ReadStages(ctx)
	if err != nil {
		return err
	}
	if s.Stages, err = stages.Since(r.base.stages); err != nil {
		return err
	}
	journal, err := r.server.Figure(ctx, journalBytes)
	if err != nil {
		return err
	}
	s.Journal = (journal - r.base.journal) / all
	var cpu time.Duration
	if r.process != nil {
		cpu, err = r.end(all)
	} else {
		cpu, err = r.flushed(ctx, all)
	}
	if err != nil {
		return err
	}
	s.CPUSeconds = cpu.Seconds()
	if cpu > 0 {
		s.SamplesPerCPUSecond = all / cpu.Seconds()
	}
	return nil
}

// end ends an own collector, which puts all into parts, and takes its CPU and its bytes on disk from the operating
// system.
func (r *run) end(all float64) (time.Duration, error) {
	cpu, written, err := r.process.End()
	if err != nil {
		return 0, err
	}
	store, err := BytesIn(filepath.Join(r.dir, "data", "grid"))
	if err != nil {
		return 0, err
	}
	perSample, inAll := float64(store)/all, float64(written)/all
	r.step.Disk, r.step.Written = &perSample, &inAll
	return cpu + r.process.Begun - r.base.cpu, nil
}

// flushed takes what a collector that goes on running has cost so far; of what is in parts already, the bytes a slice.
// Parts that are written later are not known, so this is of the flushed slices alone.
func (r *run) flushed(ctx context.Context, all float64) (time.Duration, error) {
	cpu, err := r.measured.CPU(ctx)
	if err != nil {
		return 0, err
	}
	size, err := r.server.Figure(ctx, flushedBytes)
	if err != nil {
		return 0, err
	}
	slices, err := r.server.Figure(ctx, flushedSlices)
	if err != nil {
		return 0, err
	}
	if n := slices - r.base.flushedSlices; n > 0 {
		perSample := (size - r.base.flushedBytes) / n / float64(r.perSlice())
		r.step.Disk = &perSample
	}
	return cpu - r.base.cpu, nil
}
