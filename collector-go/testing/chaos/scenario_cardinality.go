package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// cardinality is scenario 17: one topology makes up a million label sets in a minute. A try is a label set.
func cardinality() Scenario {
	return Scenario{Number: 17, Fault: "cardinality", Full: 1_000_000, Short: 20_000, Try: playCardinality}
}

const (
	setsOfABatch       = 5000
	cardinalityTime    = time.Minute
	seriesPerTopology  = 200_000 // the collector's default
	cardinalityLongest = 2 * cardinalityTime
)

func playCardinality(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	limit := min(seriesPerTopology, max(1000, tries/5))
	c, err := g.Start(ctx, Settings{Flags: []string{"--limits-series-per-topology", fmt.Sprint(limit)}})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	ledger.Produce(ctx, c.GRPC(), ProducerOptions{Pause: 20 * time.Millisecond})
	if err := c.ForgetPeak(); err != nil {
		return o, err
	}
	attack := &cardinalityAttack{sets: tries, pace: g.Duration(cardinalityTime, 0)}
	took, err := attack.play(ctx, c.GRPC(), 1)
	if err != nil {
		return o, err
	}
	if took > g.Duration(cardinalityLongest, patience) {
		o.Broken = append(o.Broken, fmt.Sprintf("%d label sets took %.0f s, a minute was to be enough", tries,
			took.Seconds()))
	}
	if attack.taken != int64(limit) || attack.rejected != int64(tries-limit) {
		o.Broken = append(o.Broken, fmt.Sprintf("of %d label sets %d were taken and %d rejected by the limit of %d",
			tries, attack.taken, attack.rejected, limit))
	}
	counted, err := c.Figure("bullet_metrics_ingest_rejected_samples_total", `reason="series_limit"`)
	if err != nil {
		return o, err
	}
	if int64(counted) != attack.rejected {
		o.Broken = append(o.Broken, fmt.Sprintf("%.0f samples are counted as beyond the limit, %d were", counted,
			attack.rejected))
	}
	peak, err := c.PeakBytes()
	if err != nil {
		return o, err
	}
	fresh, err := ledger.AwaitFresh(ctx)
	if err != nil {
		return o, err
	}
	c.Kill()
	if err := c.Again(ctx); err != nil {
		o.Broken = append(o.Broken, fmt.Sprintf("it does not start again: %v", err))
		return o, nil
	}
	again, err := ledger.AwaitFresh(ctx)
	if err != nil {
		return o, err
	}
	answers, err := c.awaitAnswers(ctx)
	if err != nil {
		return o, err
	}
	verified, err := ledger.verifyBeside(ctx, c.HTTP())
	if err != nil {
		return o, err
	}
	broken := append(append(o.Broken, fresh...), again...)
	o.Add(verified)
	o.Tries, o.Broken = tries, append(broken, verified.Broken...)
	o.Measured = append(o.Measured,
		fmt.Sprintf("%d label sets in %.1f s: %d taken, %d counted as beyond the limit; %d MiB at most; killed, ready again after %.1f s, and answering %.1f s later",
			tries, took.Seconds(), attack.taken, attack.rejected, peak>>20, c.ReadyAfter().Seconds(),
			answers.Seconds()))
	c.Kill()
	for _, little := range littleMemory {
		in, err := playLittleMemory(ctx, g, min(tries, little.sets), little.limit)
		if err != nil {
			return o, err
		}
		in.Tries = 0 // of the same row
		o.Add(in)
	}
	return o, nil
}

// awaitAnswers waits until a collector that was just started has read its journal again: until then it answers with
// that instead of half a result.
func (c *Collector) awaitAnswers(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	for begun := time.Now(); ; {
		_, err := c.Get(ctx, "/api/v1/query?query=1")
		if err == nil || ctx.Err() != nil {
			return time.Since(begun), err
		}
	}
}

// cardinalityAttack is a sender of one topology, each of whose samples is of a new series.
type cardinalityAttack struct {
	sets            int
	pace            time.Duration
	taken, rejected int64
}

// play sends all label sets so many times.
func (a *cardinalityAttack) play(ctx context.Context, address string, rounds int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	connection, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	stream, err := openStream(ctx, connection, "wide")
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	for sequence, sent := uint64(1), 0; sent < rounds*a.sets; sequence++ {
		first := sent % a.sets
		n := min(setsOfABatch, a.sets-first)
		b := zeroSamples(n)
		b.Epoch, b.Sequence, b.OldestHeldSequence = []byte("wide-wide-wide-w"), sequence, sequence
		for i := range n {
			id := uint32(first+i) + 1
			b.Samples.SeriesIds[i] = id
			b.Series = append(b.Series, definition(id, "wide"))
			b.Series[i].Key = []string{fmt.Sprintf("%08x", id)}
		}
		if err := a.send(ctx, stream, b, n); err != nil {
			return 0, err
		}
		sent += n
		if err := wait(ctx, time.Until(
			begun.Add(time.Duration(float64(a.pace)*float64(sent)/float64(a.sets))))); err != nil {
			return 0, err
		}
	}
	return time.Since(begun), nil
}

// send sends a batch until it is taken.
func (a *cardinalityAttack) send(ctx context.Context, stream pb.IngestService_ExportClient, b *pb.Batch,
	samples int) error {
	for {
		if err := stream.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}}); err != nil {
			_, err := stream.Recv()
			return errors.Join(errors.New("the stream of many label sets was ended"), err)
		}
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		if full := answer.GetFull(); full != nil {
			if err := wait(ctx, time.Duration(full.GetRetryAfterMs())*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		rejected := int64(0)
		for _, r := range answer.GetAcknowledgement().GetRejections() {
			if r.GetReason() != pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT {
				return fmt.Errorf("label sets were rejected for %s: %s", r.GetReason(), r.GetExample())
			}
			rejected += int64(r.GetSamples())
		}
		a.rejected, a.taken = a.rejected+rejected, a.taken+int64(samples)-rejected
		return nil
	}
}
