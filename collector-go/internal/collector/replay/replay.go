// Package replay plays captures into a collector as if they had arrived by gRPC. Data points pass the admission, limits
// and accounting of package ingest and enter the journal. The captures' clock enters as the journal's ticks.
//
// It owns the order of several captures, their clock, and the names of their topologies. It does not know the meaning
// of a metric, or what happens to a sample behind the journal. Start reading with Player.Play.
package replay

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// Clock is a collector's clock during a replay. It shows the time of the captures instead of the system's. Old samples
// are thus neither too old nor late, and a day of a capture needs no day to play. It is safe for concurrent use.
type Clock struct{ ms atomic.Int64 }

// Now is the time that the clock shows.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// Bounds of a replay.
const (
	tickMs = 1000
	// maxQuietMs is how much of a time without data points passes in ticks: longer than the slicer keeps the slices of
	// a worker that nobody speaks for (an hour). The clock jumps over the rest.
	maxQuietMs = 2 * 3_600_000
	// maxBatchSamples bounds a batch, as the plugin does.
	maxBatchSamples = 10_000
)

// Outcome counts what became of the captures at admission.
type Outcome struct {
	Points      uint64            // numbers after flattening
	Refused     map[string]uint64 // of these, those that ingest rejected, by reason
	Unsupported uint64            // values that are no numbers; not among the points
	Malformed   []error           // the first lines that could not be read
	Unread      int               // how many there were
	Topologies  map[string]bool   // names under which samples came
}

// maxMalformed bounds the lines that are named.
const maxMalformed = 10

// Run is a run of a topology of which the collector has samples from before the replay. A capture of another run with
// earlier times must not be stored under the same name.
type Run struct {
	ID     string // Storm's
	LastMs int64  // when it was heard of last
}

// Player plays captures into one server, one second of one capture at a time. Each capture has its own sender, as each
// worker has in a live topology. It is for one goroutine.
type Player struct {
	// Earlier are the runs that the collector had before, by the topology's name; may be nil.
	Earlier map[string][]Run
	// Storm is the release of Storm of captures that do not state it; "" lets it be guessed from what they have.
	Storm string

	server  *ingest.Server   // its clock is clock
	journal *journal.Journal // the server's
	clock   *Clock
	log     *slog.Logger
	outcome Outcome
}

// New returns a player into a server whose clock (ingest.Options.Now) is clock's Now. j is the server's journal. The
// player writes the ticks into it, because the slicer learns the time only from there.
func New(server *ingest.Server, j *journal.Journal, clock *Clock, log *slog.Logger) *Player {
	return &Player{server: server, journal: j, clock: clock, log: log,
		outcome: Outcome{Refused: map[string]uint64{}, Topologies: map[string]bool{}}}
}

// Play plays captures side by side, in the order of their clocks, until all are read, and returns their outcome. A
// malformed line is skipped and reported in the outcome. Another error ends the replay; what was played before it stays
// stored.
func (p *Player) Play(ctx context.Context, files ...*File) (Outcome, error) {
	err := p.play(ctx, files)
	return p.outcome, err
}

func (p *Player) play(ctx context.Context, files []*File) error {
	for _, f := range files {
		if err := p.advance(f); err != nil {
			return err
		}
	}
	for {
		f := next(files)
		if f == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.second(ctx, f, files); err != nil {
			return err
		}
	}
}

// next returns the capture whose next data point came first, or nil when all captures are read.
func next(files []*File) *File {
	var first *File
	for _, f := range files {
		if f.point != nil && (first == nil || f.nowMs < first.nowMs) {
			first = f
		}
	}
	return first
}

// second plays what a capture has in the second of its next data point, as one batch. The ticks up to that time come
// first, because the collector's clock must have reached a batch's time before the batch arrives.
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
	for _, r := range rejections {
		p.outcome.Refused[ingest.ReasonName(r.GetReason())] += r.GetSamples()
	}
	if f.point == nil {
		f.close()
	}
	return nil
}

// tickTo advances the clock to a time and writes a tick for each second. When a capture's clock goes back, so does this
// clock: the collector has to handle that in production too.
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
