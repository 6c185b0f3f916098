// Package replay plays captures into a collector as if they had arrived by gRPC. Data points pass the checks, limits
// and accounting of package ingest and enter the journal. The captures' clock enters the journal as ticks.
//
// It owns the order of several captures, their clock, and the names of their topologies. It does not interpret metrics,
// and it does not know what happens to a sample after the journal. Start reading with Player.Play.
package replay

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
)

// Clock is a collector's clock during a replay. It shows the time of the captures instead of the system's. Old samples
// are therefore neither too old nor late, and a day of a capture does not take a day to play. It is safe for concurrent
// use.
type Clock struct{ ms atomic.Int64 }

// Now returns the captures' current time.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// These bounds limit a replay.
const (
	tickMs = 1000
	// maxQuietMs is how much of a period without data points is played as ticks, in ms; the clock jumps over the rest.
	// It must be longer than the slicer keeps the slices of a worker that is no longer heard (one hour).
	maxQuietMs = 2 * 3_600_000
	// maxBatchSamples limits the size of a batch. The plugin has the same limit.
	maxBatchSamples = 10_000
)

// Outcome counts what happened to the captures' data points on their way into the journal.
type Outcome struct {
	Points      uint64            // numbers after flattening
	Refused     map[string]uint64 // those of Points that ingest rejected, by reason
	Unsupported uint64            // values that are not numbers; they do not count as points
	Malformed   []error           // errors of the first malformed lines
	Unread      int               // number of malformed lines
	Topologies  map[string]bool   // names under which samples were stored
}

// refuse counts samples that ingest rejected.
func (o *Outcome) refuse(rejections []*pb.Rejection) {
	for _, r := range rejections {
		o.Refused[ingest.ReasonName(r.GetReason())] += r.GetSamples()
	}
}

// maxMalformed limits the number of malformed lines whose errors are kept.
const maxMalformed = 10

// Run is a run of a topology with samples in the collector from before the replay. A capture of another run must not be
// stored under the same name if its times are earlier.
type Run struct {
	ID     string // Storm's topology id
	LastMs int64  // when the run was last heard
}

// RunsOf returns the runs of the topologies that a registry knows.
func RunsOf(known *registry.Registry) map[string][]Run {
	runs := map[string][]Run{}
	for _, summary := range known.Topologies() {
		topology, _ := known.Topology(summary.Name, "")
		for _, run := range topology.Runs {
			if last, err := time.Parse(time.RFC3339, run.LastSeen); err == nil { // else it was never heard
				runs[summary.Name] = append(runs[summary.Name], Run{ID: run.ID, LastMs: last.UnixMilli()})
			}
		}
	}
	return runs
}

// Player plays captures into one server, one second of one capture at a time. Each capture has its own sender, as each
// worker has in a live topology. It is not safe for concurrent use.
type Player struct {
	// Earlier are the runs that the collector had before the replay, by topology name. It may be nil.
	Earlier map[string][]Run
	// Storm is the release of Storm for captures that do not state it. If it is "", the release is guessed from the
	// metrics.
	Storm string
	// ShiftMs is added to the times of the captures.
	ShiftMs int64

	server  *ingest.Server   // its clock is clock
	journal *journal.Journal // the server's
	clock   *Clock
	log     *slog.Logger
	outcome Outcome
}

// New returns a player for a server whose clock (ingest.Options.Now) is clock.Now. j is the server's journal. The
// player writes the ticks into it, because the slicer learns the time only from the journal.
func New(server *ingest.Server, j *journal.Journal, clock *Clock, log *slog.Logger) *Player {
	return &Player{server: server, journal: j, clock: clock, log: log,
		outcome: Outcome{Refused: map[string]uint64{}, Topologies: map[string]bool{}}}
}

// Source is what a player plays, in the order of its times.
type Source interface {
	// Next returns the time of the next part, or false at the end. play plays that part.
	Next() (at time.Time, more bool)
	play(ctx context.Context) error
}

// Play plays captures side by side, in the order of their clocks, until all are read. It skips malformed lines and
// reports them in the outcome. Any other error ends the replay; what was played before stays stored.
func (p *Player) Play(ctx context.Context, files ...*File) (Outcome, error) {
	source, err := p.Captures(files...)
	if err == nil {
		err = p.playTo(ctx, source, math.MaxInt64)
	}
	return p.outcome, err
}

// PlayUntil plays a source up to a time in ms, and advances the clock to that time. With it, others can do something at
// a time of the source, for example evaluate rules.
func (p *Player) PlayUntil(ctx context.Context, source Source, ms int64) error {
	if err := p.playTo(ctx, source, ms); err != nil {
		return err
	}
	return p.tickTo(max(ms, p.clock.ms.Load()))
}

func (p *Player) playTo(ctx context.Context, source Source, ms int64) error {
	for at, more := source.Next(); more && at.UnixMilli() <= ms; at, more = source.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := source.play(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Outcome returns what has happened to the samples so far.
func (p *Player) Outcome() Outcome { return p.outcome }

// captures are captures that are played side by side.
type captures struct {
	player *Player
	files  []*File
}

// Captures returns captures to play side by side.
func (p *Player) Captures(files ...*File) (Source, error) {
	for _, f := range files {
		if err := p.advance(f); err != nil {
			return nil, err
		}
	}
	return &captures{p, files}, nil
}

// Next implements Source.
func (c *captures) Next() (time.Time, bool) {
	f := next(c.files)
	if f == nil {
		return time.Time{}, false
	}
	return time.UnixMilli(f.nowMs), true
}

func (c *captures) play(ctx context.Context) error {
	return c.player.second(ctx, next(c.files), c.files)
}

// next returns the capture with the earliest next data point, or nil if all captures are read.
func next(files []*File) *File {
	var first *File
	for _, f := range files {
		if f.point != nil && (first == nil || f.nowMs < first.nowMs) {
			first = f
		}
	}
	return first
}

// second plays one second of a capture as one batch, from its next data point on. The ticks up to that time come first,
// because the collector's clock must have reached a batch's time before the batch arrives.
func (p *Player) second(ctx context.Context, f *File, files []*File) error {
	b := &batch{}
	start, prepare := f.nowMs/tickMs, f.point.Prepare
	var lastMs int64
	first := *f.point
	for f.point != nil && f.nowMs/tickMs == start && f.point.Prepare == prepare && b.samples() < maxBatchSamples {
		lastMs = f.nowMs
		f.add(b)
		p.outcome.Points += uint64(len(f.point.Samples))
		p.outcome.Unsupported += uint64(f.point.Unsupported)
		if err := p.advance(f); err != nil {
			return err
		}
	}
	if err := p.tickTo(lastMs); err != nil {
		return err
	}
	if err := p.open(f, &first, files); err != nil {
		return err
	}
	rejections, err := f.sender.Send(ctx, f.finish(b, lastMs))
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	p.outcome.refuse(rejections)
	if f.point == nil {
		f.close()
	}
	return nil
}

// tickTo advances the clock to a time and writes a tick for each second. If a capture's clock goes back, so does this
// clock, because the collector has to handle that in production too.
func (p *Player) tickTo(ms int64) error {
	was := p.clock.ms.Load()
	if was == 0 {
		p.clock.ms.Store(ms)
		return p.control(&journal.Started{TimeMs: ms})
	}
	for at := max(was/tickMs, (ms-maxQuietMs)/tickMs) + 1; at <= ms/tickMs; at++ {
		p.clock.ms.Store(at * tickMs)
		if err := p.control(&journal.Tick{TimeMs: at * tickMs}); err != nil {
			return err
		}
	}
	p.clock.ms.Store(ms)
	return nil
}

// control appends a control record to the journal.
func (p *Player) control(e journal.Entry) error {
	if err := p.journal.AppendControl(e); err != nil {
		return fmt.Errorf("write the clock into the journal: %w", err)
	}
	return nil
}
