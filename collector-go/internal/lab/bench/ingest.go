package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Ingest configures a measurement of a collector's ingest throughput.
type Ingest struct {
	Seed           uint64
	Hosts, Metrics int
	RowsPerBatch   int
	InFlight       int
	Step, Width    time.Duration
	Duration       time.Duration
	MostRows       int // for each step of the curve; 0 means no limit
	WorkerSamples  float64
	Program, Dir   string   // of an own collector
	More           []string // further flags of an own collector
	Remote         *Remote  // a running collector to use instead; nil for an own one
}

// Remote is a collector that is already running.
type Remote struct {
	Target Target
	Server *Server
}

// back is the age of the first rows. Samples older than a day are rejected, and the run itself takes time.
const back = 22 * time.Hour

// Validate returns an error that names an invalid option.
func (o *Ingest) Validate() error {
	switch {
	case o.Hosts < 1 || o.Hosts > 1_000_000:
		return fmt.Errorf("--hosts must be between 1 and 1,000,000, not %d", o.Hosts)
	case o.RowsPerBatch < 1 || o.RowsPerBatch*o.Metrics > 250_000:
		return fmt.Errorf("--rows-per-batch must be between 1 and %d, not %d", 250_000/o.Metrics, o.RowsPerBatch)
	case o.InFlight < 1:
		return errors.New("--in-flight must be at least 1")
	case o.Step < time.Second || o.Step%time.Second != 0 || o.Width%o.Step != 0 || o.Width < o.Step:
		return fmt.Errorf("--step must be whole seconds, and --slice-width a multiple of it, not %s and %s",
			o.Step, o.Width)
	case o.Width > time.Hour:
		return fmt.Errorf("--slice-width must be at most 1h, not %s", o.Width)
	case o.Duration <= 0 && o.MostRows <= 0:
		return errors.New("set --duration or --rows")
	case o.MostRows < 0 || o.MostRows > 0 && o.MostRows < o.Hosts*o.perSlice():
		return fmt.Errorf("--rows must be at least %d, one slice of every host", o.Hosts*o.perSlice())
	case o.WorkerSamples <= 0:
		return errors.New("--worker-samples must be greater than 0")
	}
	return nil
}

func (o *Ingest) perSlice() int { return int(o.Width / o.Step) }

// Closing returns after how many steps beyond the last measured row a further row closes the last measured slices.
func Closing(step, width time.Duration) int { return int((2*time.Minute+2*width)/step) + 1 }

// run is one step of a curve: a collector, the clients that send to it, and what was read from both. It is for one
// goroutine. clear ends everything that was started, also after an error.
type run struct {
	*Ingest
	clients  int
	server   *Server
	measured Measured
	process  *Process // nil if the collector was already running
	dir      string
	target   Target
	fleet    *Fleet
	topology string
	startMs  int64
	base     reading // before the first sample
	step     Step
}

// reading holds a collector's figures at one moment. Its counters count since its start, so the figures of a period
// are the differences of two readings.
type reading struct {
	cpu      time.Duration
	resident int64
	inSlices int
	counters map[string]float64
	stages   StageReading
}

// Counters of a reading.
const (
	journaled     = "bullet_metrics_ingest_journaled_samples_total"
	journalBytes  = "bullet_metrics_journal_appended_bytes_total"
	flushedBytes  = "bullet_metrics_embedded_flushed_bytes_total"
	flushedSlices = "bullet_metrics_embedded_flushed_slices_total"
)

// read reads the collector's figures. The CPU comes first, because reading the others costs CPU.
func (r *run) read(ctx context.Context) (now reading, err error) {
	if now.cpu, err = r.measured.CPU(ctx); err != nil {
		return now, err
	}
	if now.resident, err = r.measured.Resident(ctx); err != nil {
		return now, err
	}
	if now.inSlices, err = r.server.InSlices(ctx); err != nil {
		return now, err
	}
	now.counters = map[string]float64{}
	for _, name := range []string{journaled, journalBytes, flushedBytes, flushedSlices} {
		if now.counters[name], err = r.server.Figure(ctx, name); err != nil {
			return now, err
		}
	}
	now.stages, err = r.server.ReadStages(ctx)
	return now, err
}

// Measure sends rows from the given number of clients, waits until all can be queried, and checks them. If the
// collector has no capacity for so many streams, the step has one rejection and no rows.
func (o *Ingest) Measure(ctx context.Context, clients int) (Step, error) {
	r := &run{Ingest: o, clients: clients, step: Step{Clients: clients}}
	defer r.clear()
	err := r.write(ctx)
	if Full(err) {
		return Step{Clients: clients, Rejected: 1}, nil
	}
	return r.step, err
}

// write sends the rows, checks them, and reads the costs. The order matters: figures are read before the first sample,
// and the disk size only after the collector has ended.
func (r *run) write(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	if err := r.send(ctx); err != nil {
		return err
	}
	return r.settle(ctx)
}

// begin starts the collector, opens the clients' streams and defines the series.
func (r *run) begin(ctx context.Context) (err error) {
	if err := r.start(ctx); err != nil {
		return err
	}
	load := Load{Topology: r.topology, Clients: min(r.clients, r.Hosts), RowsPerBatch: r.RowsPerBatch,
		InFlight: r.InFlight, StartMs: r.startMs, Step: r.Step, Tags: true, Lead: max(16, r.perSlice())}
	if r.fleet, err = Connect(ctx, r.target, NewRows(r.Seed, r.Hosts, r.Metrics), load); err != nil {
		return err
	}
	return r.define(ctx)
}

// start starts an own collector, or uses the remote one.
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

// Home returns the directory of an own collector for the given number of clients.
func (o *Ingest) Home(clients int) string {
	return filepath.Join(o.Dir, fmt.Sprintf("clients-%d", clients))
}

// serve starts an own collector on the run's directory, with a limit that allows all series of the load.
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

// clear ends everything that was started, and removes its data. It may be called at any stage of a run.
func (r *run) clear() {
	if r.fleet != nil {
		r.fleet.Abandon()
	}
	if r.process != nil {
		r.process.Kill()
	}
	if r.dir != "" {
		_ = os.RemoveAll(r.dir) // within a temporary directory, which is removed at the end
	}
}

// define sends the definitions of all series and waits until the collector knows them. Their cost is a separate
// figure, because they are sent only once, however long samples follow.
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
	r.base, err = r.read(ctx)
	r.step.DefiningCPUSeconds = (r.base.cpu - before).Seconds()
	return err
}

// send sends for the run's duration, waits until the collector has stored everything in slices, and checks it.
// Throughput is over all of that time, because samples that are acknowledged but not processed are still work to do.
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
	steps, err := r.fleet.Send(most, r.perSlice(), until)
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
	if _, err := r.fleet.Send(1, 1, time.Time{}); err != nil {
		return err
	}
	if err := r.fleet.Close(); err != nil {
		return err
	}
	s.Rejected = int(r.fleet.Fulls())
	if err := Await(ctx, r.base.inSlices+s.Samples, r.server.InSlices); err != nil {
		return err
	}
	took := time.Since(begun)
	s.RowsPerS, s.SamplesPerS = float64(s.Rows)/took.Seconds(), float64(s.Samples)/took.Seconds()
	return r.check(ctx, written)
}

// endedByWindow is the reason of a step whose rows reached the end of the day for which a collector accepts samples.
const endedByWindow = "window"

// patience is how long written rows may take to be queryable after enough samples are in slices: those of one client
// may be behind the others.
const patience = time.Minute

// check compares until the written rows can be queried, for at most patience, because the newest slices may close a
// moment later. The CPU of the comparing queries is excluded from the result.
func (r *run) check(ctx context.Context, written Written) error {
	before, err := r.measured.CPU(ctx)
	if err != nil {
		return err
	}
	looking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = poll.Until(looking, awaitEvery, func() bool { // the error of the last comparison says more
		err = written.Check(ctx, r.server)
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("queries do not return the written data: %w", err)
	}
	after, err := r.measured.CPU(ctx)
	r.base.cpu += after - before
	return err
}

// settle reads what the step has cost. An own collector is ended first, so that all its samples are on disk in parts
// and the CPU for that is counted. A remote collector keeps running and is read as it is.
func (r *run) settle(ctx context.Context) error {
	s, all := &r.step, float64(r.step.Samples)
	s.Workers = int(s.SamplesPerS / r.WorkerSamples)
	now, err := r.read(ctx)
	if err != nil {
		return err
	}
	s.ServerMiB = float64(now.resident) / (1 << 20)
	if s.Stages, err = now.stages.Since(r.base.stages); err != nil {
		return err
	}
	s.Journal = r.grown(now, journalBytes) / all
	cpu := now.cpu - r.base.cpu
	if r.process != nil {
		if cpu, err = r.end(all); err != nil {
			return err
		}
	} else if n := r.grown(now, flushedSlices); n > 0 { // parts that are written later are unknown
		perSample := r.grown(now, flushedBytes) / n / float64(r.perSlice())
		s.Disk = &perSample
	}
	s.CPUSeconds = cpu.Seconds()
	if cpu > 0 {
		s.SamplesPerCPUSecond = all / cpu.Seconds()
	}
	return nil
}

// grown returns by how much a counter has grown since before the first sample.
func (r *run) grown(now reading, counter string) float64 {
	return now.counters[counter] - r.base.counters[counter]
}

// end ends an own collector, which writes everything to parts. It reads the CPU and the bytes on disk from the
// operating system.
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
