package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// clocks is scenario 11: clocks step by a second to twelve hours. A try is a producer whose clock steps, against the
// program, and a history in which the collector's does, inside the process: the system lets nobody step the clock of
// one process.
func clocks() Scenario {
	return Scenario{Number: 11, Fault: "clocks", Full: 1000, Short: 6, Try: playClocks}
}

// fewClocks is below which the tests inside the process are left out: `make test` runs them anyway.
const fewClocks = 10

func playClocks(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	tested, err := playOwnClock(ctx, g, tries)
	if err != nil {
		return o, err
	}
	broken := tested.Broken
	c, err := g.Start(ctx, Settings{})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	ledger.Produce(ctx, c.GRPC(), ProducerOptions{Pause: 20 * time.Millisecond})
	var all stepping
	for try := range tries {
		wrong, err := all.play(ctx, c.GRPC(), try, g.Random(try))
		if err != nil {
			return o, err
		}
		broken = append(broken, wrong...)
	}
	if o, err = ledger.verifyBeside(ctx, c.HTTP()); err != nil {
		return o, err
	}
	wrong, err := all.balance(ctx, c, o.Acknowledged)
	if err != nil {
		return o, err
	}
	if tries >= fewClocks && (all.late == 0 || all.rejected == 0) {
		broken = append(broken, "no step made a sample late, or none ahead: nothing was tried")
	}
	o.Broken = append(append(o.Broken, broken...), wrong...)
	o.Tries, o.Acknowledged = tries, o.Acknowledged+all.sent-all.rejected+tested.Acknowledged
	o.Measured = append(tested.Measured,
		fmt.Sprintf("%d steps of producers: of %d samples %d were ahead and refused, %d late, all counted", all.steps,
			all.sent, all.rejected, all.late))
	return o, nil
}

// playOwnClock steps the collector's clock, inside the process, and looks for the alert of a producer's.
func playOwnClock(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	if tries < fewClocks {
		return o, nil
	}
	played, broken, err := ownClock.play(ctx, g, tries)
	if err != nil {
		return o, err
	}
	alert := groupCommand(ctx, "go", "test", "-count=1", "-run", "^TestAClockAheadIsAnAlert$", "./cmd/bullet-metrics")
	alert.Dir = filepath.Join(g.Repository, "collector-go")
	if said, err := alert.CombinedOutput(); err != nil {
		broken = append(broken, fmt.Sprintf("the alert: %s", ending(said)))
	}
	o.Acknowledged, o.Broken = played["samples"], broken
	o.Measured = append(o.Measured,
		fmt.Sprintf("%d steps of the collector's clock, inside the process: nothing late, lost or otherwise than without",
			played["steps"]))
	return o, nil
}

var ownClock = property{pkg: "./internal/collector/feed", test: "TestStepsOfTheCollectorsClock", first: "arrival.first",
	count: "arrival.seeds", atOnce: 50}

// stepping is what producers whose clocks step have sent, and what was said to it.
type stepping struct {
	steps          int
	sent, rejected int64 // samples
	late           int64
}

const (
	steppingBatches = 60
	aheadLimit      = 10 * time.Minute
)

// play sends a minute of a producer whose clock steps twice.
func (s *stepping) play(ctx context.Context, address string, try int, random *rand.Rand) (broken []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connection, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	stream, err := openStream(ctx, connection, fmt.Sprintf("stepping-%d", try))
	if err != nil {
		return nil, err
	}
	off, ahead, rejected := time.Duration(0), int64(0), int64(0)
	for batch := range steppingBatches {
		if batch == 20 || batch == 40 {
			off += step(random)
			s.steps++
		}
		now := time.Now()
		at := now.Add(time.Duration(batch-steppingBatches)*time.Second + off)
		if by := at.Sub(now) - aheadLimit; by > 0 {
			ahead++
		}
		b := &pb.Batch{Epoch: bytes.Repeat([]byte{byte(try), byte(try >> 8)}, 8), Sequence: uint64(batch) + 1,
			OldestHeldSequence: uint64(batch) + 1, SendTimeMs: now.Add(off).UnixMilli(),
			Samples: &pb.SampleColumns{BaseTimeMs: at.UnixMilli(), SeriesIds: []uint32{1}, TimeOffsetsMs: []int64{0},
				Values: []float64{float64(batch)}}}
		if batch == 0 {
			b.Series = []*pb.SeriesDefinition{definition(1, "stepping")}
		}
		if err := stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}}); err != nil {
			_, err := stream.Recv()
			return nil, errors.Join(errors.New("the stream of a producer whose clock steps was ended"), err)
		}
		answer, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		for _, r := range answer.GetAcknowledgement().GetRejections() {
			if r.GetReason() != pb.RejectionReason_REJECTION_REASON_FUTURE {
				broken = append(broken, fmt.Sprintf("try %d: a sample %s off was refused for %s: %s", try, off,
					r.GetReason(), r.GetExample()))
			}
			rejected += int64(r.GetSamples())
		}
		s.sent++
	}
	if rejected != ahead {
		broken = append(broken, fmt.Sprintf("try %d: %d samples were more than %s ahead, %d were refused", try, ahead,
			aheadLimit, rejected))
	}
	s.rejected += rejected
	return broken, nil
}

// step is one of a second to twelve hours, in either direction, and none that ends within a minute of what may be
// ahead.
func step(random *rand.Rand) time.Duration {
	d := time.Second + time.Duration(
		random.Int64N(int64([]time.Duration{5 * time.Minute, time.Hour, 12*time.Hour - time.Second}[random.IntN(3)])))
	if d > aheadLimit-2*time.Minute && d < aheadLimit+2*time.Minute {
		d = aheadLimit + 2*time.Minute
	}
	if random.IntN(2) == 0 {
		return -d
	}
	return d
}

// balance holds the collector's figures to what was sent: what was taken is read, and is in a slice, open, or late.
func (s *stepping) balance(ctx context.Context, c *Collector, ledgers int64) (broken []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	const end = 1 // the ledger's producer sends one sample more than it has acknowledged as its own
	want := ledgers + end + s.sent - s.rejected
	for {
		all, err := readFigures(ctx, c.HTTP())
		if err != nil {
			return nil, err
		}
		read := all.sum("bullet_metrics_feed_samples", `fate="read"`)
		if int64(read) != want {
			if wait(ctx, 50*time.Millisecond) == nil {
				continue
			}
			return append(broken, fmt.Sprintf("%d samples were taken, %.0f read", want, read)), nil
		}
		s.late = int64(all.sum("bullet_metrics_feed_samples", `fate="late"`))
		if refused := all.sum("bullet_metrics_ingest_rejected_samples_total", `reason="future"`); int64(refused) !=
			s.rejected {
			broken = append(broken, fmt.Sprintf("%d samples were refused as ahead, %.0f are counted",
				s.rejected, refused))
		}
		if sum := all.sum("bullet_metrics_feed_samples"); sum != 2*read {
			broken = append(broken, fmt.Sprintf("accounts of the feed: %.0f read, %.0f with a fate", read, sum-read))
		}
		return broken, nil
	}
}
