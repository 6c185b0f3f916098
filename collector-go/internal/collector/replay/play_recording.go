package replay

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// recording is a recording that is being played.
type recording struct {
	player *Player
	events []Event // those that are left
	played int
	shift  int64
	open   map[uint64]*ingest.Local
}

// Recording returns a recording to play. shiftMs is added to its times.
func (p *Player) Recording(events []Event, shiftMs int64) Source {
	return &recording{player: p, events: events, shift: shiftMs, open: map[uint64]*ingest.Local{}}
}

// Next implements Source.
func (r *recording) Next() (time.Time, bool) {
	if len(r.events) == 0 {
		for stream, sender := range r.open { // whose end was not recorded
			sender.Close()
			delete(r.open, stream)
		}
		return time.Time{}, false
	}
	return time.UnixMilli(r.events[0].AtMs + r.shift), true
}

func (r *recording) play(ctx context.Context) error {
	e := r.events[0]
	r.events, r.played = r.events[1:], r.played+1
	if err := r.player.tickTo(e.AtMs + r.shift); err != nil {
		return err
	}
	if err := r.event(ctx, e); err != nil {
		return fmt.Errorf("event %d of the recording: %w", r.played, err)
	}
	return nil
}

func (r *recording) event(ctx context.Context, e Event) error {
	sender := r.open[e.Stream]
	switch {
	case e.Request == nil:
		if sender != nil {
			sender.Close()
			delete(r.open, e.Stream)
		}
		return nil
	case e.Request.GetOpen() != nil:
		var epoch journal.Epoch
		_, _ = rand.Read(epoch[:]) // never fails (crypto/rand)
		open := e.Request.GetOpen()
		ShiftTimes(open.ProtoReflect(), r.shift)
		open.Epoch, open.Generation = nil, 0 // a local sender carries no state
		local, err := r.player.server.Local(open, epoch)
		r.open[e.Stream] = local
		r.player.outcome.Topologies[open.GetTopology()] = true
		return err
	case e.Request.GetBatch() == nil || sender == nil:
		return nil
	}
	ShiftTimes(e.Request.ProtoReflect(), r.shift)
	rejections, err := sender.Send(ctx, e.Request.GetBatch())
	r.player.outcome.refuse(rejections)
	return err
}
