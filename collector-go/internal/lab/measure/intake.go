package measure

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// The rate at which a topology takes records is what its source counted and the collector stored. The step, its
// evidence and its report use the same figure. The gateway's status is used only for a generator that counts nothing:
// it is as of the gateway's answer, which on an overloaded host does not match the slices. If the topology reads from
// Kafka or from a foreign source, that status describes the record maker or does not exist.

// readsThroughBroker reports whether records come from a broker through bullet-dsl's spout. Otherwise the source makes
// them itself.
func (t Topology) readsThroughBroker() bool {
	name, _ := t.recordSpout()
	return name == "DataSpout" || t.Settings["bullet.topology.dsl.spout.enable"] == "true"
}

// collected reports whether only the collector knows how many records the topology takes. A broker is detected from
// the topology's facts or from the bytes that its source read, so the answer may change once they arrive.
func (s *Session) collected() bool {
	if s.ports.Source == nil || s.throughBroker {
		return true
	}
	if s.ports.Facts == nil {
		return false
	}
	if t, err := s.ports.Facts.Topology(s.ctx, s.o.Topology); err == nil {
		s.throughBroker = t.readsThroughBroker()
	}
	if !s.throughBroker {
		bytes, err := s.ports.Slices.Newest(s.ctx, s.selector(bytesMetric), time.Now())
		s.throughBroker = err == nil && len(bytes) > 0
	}
	return s.throughBroker
}

// recordSource selects the component that emits records into the topology. It has the same name in Bullet's own
// topology and in ours.
const recordSource = `component="DataSource",stream="default"`

// records returns the totals of records that the topology took. It prefers the source's own counter. Otherwise it
// returns Storm's count of the source's tuples, which is an estimate from a sample.
func (r *reader) records() (series []Series, estimated bool) {
	if series = r.read(recordsMetric); len(series) > 0 {
		return series, false
	}
	series = r.read(emittedMetric, recordSource)
	return series, len(series) > 0
}

// recordsRead returns how many records/s the topology took in (from, to], and whether that is an estimate from a
// sample. The rate is unknown if nobody reports it. Totals are read from before the span, because their increase
// within it counts.
func (s *Session) recordsRead(ctx context.Context, from, to time.Time) (rate tuning.Figure, estimated bool,
	err error) {
	read := s.reader(ctx, from.Add(-evidenceLookback), to)
	series, estimated := read.records()
	within := runstore.Span{From: from.UnixMilli(), To: to.UnixMilli()}
	return within.Increases(slicesIn(series)) / tuning.Figure(within.Seconds()), estimated, read.err
}

// lagSince returns how many records wait to be read, as of the newest slice that ended at or after a moment. known is
// false until there is such a slice. If nobody reports a lag, the lag is unknown and known becomes true.
func (s *Session) lagSince(ctx context.Context, moment time.Time) (lag tuning.Figure, known bool, err error) {
	if !s.collected() {
		status, err := s.ports.Source.Status(ctx)
		return tuning.Figure(status.Lag), err == nil, err
	}
	read := s.reader(ctx, moment.Add(-s.width), time.Now())
	waiting := sum(read.read(lagMetric))
	if n := len(waiting.TimesMs); n > 0 {
		return waiting.Values[n-1], waiting.TimesMs[n-1] >= moment.UnixMilli(), nil
	}
	other := sum(read.read(cpuMetric)) // each worker reports CPU: if its slice is stored, so is the lag's
	n := len(other.TimesMs)
	return tuning.Unknown, n > 0 && other.TimesMs[n-1] >= moment.UnixMilli(), read.err
}

// takeIn sets the step's record rate and lag to what the collector reports. The record maker's rate stays only if the
// source is a generator that the collector knows nothing about.
func (s *Session) takeIn(step *runstore.Step, m tuning.StepMeasures) error {
	from, to := time.UnixMilli(step.MeasuredFromMs), time.UnixMilli(step.EndMs)
	lag := tuning.Figure(step.RecordsLag)
	rate, estimated, err := s.recordsRead(s.ctx, from, to)
	if err != nil {
		return err
	}
	if s.collected() || rate.Known() && !estimated {
		step.RecordsPerSecond = rate
		step.MiBPerSecond = rate * s.o.Plan.Load.MeanRecordBytes / (1 << 20)
	}
	if s.collected() {
		read := s.reader(s.ctx, from, to)
		lag = runstore.Span{From: from.UnixMilli(), To: to.UnixMilli()}.Last(sum(read.read(lagMetric)))
		if read.err != nil {
			return read.err
		}
		step.RecordsLag = 0
		if lag.Known() {
			step.RecordsLag = int64(math.Round(float64(lag)))
		}
	}
	m.Set(tuning.SourceLag, tuning.AtEnd, lag)
	return s.caughtUp(step)
}

// offer is the catch-up period of a step, in which the source offers more records than the step's rate. It begins and
// ends at slice boundaries.
type offer struct {
	from, to time.Time
	base     float64       // the step's own rate, records/s
	asked    float64       // records/s requested from the source
	made     tuning.Figure // records/s that the record maker emitted, without those that queries look for
	looks    [2]look       // observations at from and to
}

// shortOffer is the smallest share of the requested rate with which an offer shows how much the topology can take.
const shortOffer = 0.9

// catchUp offers more records than the step's rate. caughtUp computes the ratio later, when the slices are stored.
func (s *Session) catchUp(step *runstore.Step) error {
	asked := s.o.Plan.Load
	if !asked.CatchUpFactor.Known() || !(step.RecordsPerSecondAsked > 0) {
		return nil
	}
	o := offer{base: float64(step.RecordsPerSecondAsked)}
	o.asked = o.base * float64(asked.CatchUpFactor)
	if err := s.setRate(s.ctx, o.asked); err != nil {
		return err
	}
	width := s.width
	o.from = nextSlice(time.Now(), width)
	o.to = nextSlice(o.from.Add(load.DurationOf(asked.CatchUpMs)), width)
	status := func() string {
		return fmt.Sprintf("step %d: catch-up, offering %g times %s records/s", step.Number,
			float64(asked.CatchUpFactor), shortNumber(o.base))
	}
	looks := &o.looks
	for i, moment := range []time.Time{o.from, o.to} {
		if err := s.until(s.ctx, moment, status); err != nil {
			return err
		}
		var err error
		if looks[i], err = s.look(s.ctx); err != nil {
			return err
		}
	}
	o.made = looks[1].recordsSince(looks[0]) - tuning.Figure(s.probesPerSecond())
	s.offered, s.loaded = &o, o.to
	return s.setRate(s.ctx, o.base)
}

// caughtUp sets the step's catch-up ratio: the rate at which offered records were taken over the step's own rate.
func (s *Session) caughtUp(step *runstore.Step) error {
	o := s.offered
	if o == nil {
		return nil
	}
	taken := o.made
	if s.collected() {
		read, _, err := s.recordsRead(s.ctx, o.from, o.to)
		if err != nil {
			return err
		}
		taken = read - tuning.Figure(s.probesPerSecond())
		if float64(o.made) < shortOffer*o.asked {
			step.Notes = append(step.Notes,
				fmt.Sprintf("the source emitted only %[2]s of the %[1]s records/s for the catch-up, so the topology might take more",
					shortNumber(o.asked), shortNumber(float64(o.made))))
		}
	}
	if taken.Known() {
		step.CatchUpRatio = max(0, taken) / tuning.Figure(o.base)
	}
	return nil
}

// probesPerSecond returns how many records/s the source makes for queries to find, in addition to the background
// records.
func (s *Session) probesPerSecond() float64 {
	return float64(s.o.Plan.MostQueries()) * s.query.ProbeRate()
}

// A topology has caught up if its lag is no more than what arrives between two reads. If its own source makes the
// records, the lag is current and the limit is smaller: near its capacity a topology would need a whole step to work
// off more.
const (
	settledLag   = 2 * time.Second        // for records that it reads from a broker
	madeLag      = 100 * time.Millisecond // for records that its own source makes
	leastLag     = 50.0                   // records
	drainLimit   = 3 * time.Minute
	drainHistory = time.Minute // the period over which the read rate is measured
)

// drain waits until the topology has read the backlog of earlier load, so that a step's figures do not include it.
// Such a backlog comes from a catch-up, an overload, or the time before the launch. If possible the source makes no
// records meanwhile. The wait is bounded by drainLimit; what is left then is noted in the step.
func (s *Session) drain(step *runstore.Step) error {
	since := s.loaded
	if since.IsZero() {
		since = s.submitted
	}
	left := tuning.Unknown
	err := s.poll(s.ctx, drainLimit, "the topology to read the backlog of earlier load",
		func(ctx context.Context) (bool, error) {
			lag, known, err := s.lagSince(ctx, since)
			if err != nil || !known {
				return false, err
			}
			left = lag
			settled, err := s.settledAt(ctx)
			if err != nil || !lag.Known() || float64(lag) <= settled {
				return err == nil, err
			}
			if s.paused || s.ports.Source == nil {
				return false, nil
			}
			s.paused = true
			return false, s.setRate(ctx, 0)
		})
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if err != nil && left.Known() {
		step.Notes = append(step.Notes,
			fmt.Sprintf("%s records of earlier load were still unread when the step began, so its figures include them",
				shortNumber(float64(left))))
	} else if err != nil {
		step.Notes = append(step.Notes, fmt.Sprintf("the number of unread records of earlier load is unknown: %v", err))
	}
	return nil
}

// finishQueries waits until the queries of earlier load have ended, so that a cost step begins without queries. The
// wait is bounded; what is left then is noted.
func (s *Session) finishQueries() {
	s.asker.Hold(0, time.Now(), 0)
	left := 0
	err := s.poll(s.ctx, s.queryLimit(), "the queries of the previous load", func(ctx context.Context) (ended bool,
		err error) {
		left, err = s.asker.InFlightBefore(ctx, time.Now().Add(s.asker.Lead())) // no new query begins after this
		return err == nil && left == 0, err
	})
	if err != nil && s.ctx.Err() == nil {
		s.notes = append(s.notes,
			fmt.Sprintf("%d queries of earlier load were still running when the step began, so its figures include them",
				left))
	}
}

// queryLimit returns the longest time that a query may take.
func (s *Session) queryLimit() time.Duration {
	return s.query.Life() + load.DefaultClosedOptions().Grace
}

// settledAt returns the largest lag, in records, at which the topology still keeps up.
func (s *Session) settledAt(ctx context.Context) (float64, error) {
	if !s.collected() {
		return max(leastLag, madeLag.Seconds()*s.rate), nil
	}
	rate := s.rate
	read, _, err := s.recordsRead(ctx, time.Now().Add(-drainHistory), time.Now())
	if err != nil {
		return 0, err
	}
	if read.Known() {
		rate = max(rate, float64(read))
	}
	return max(leastLag, settledLag.Seconds()*rate), nil
}

// recordsSince returns how many records/s the source made since an earlier look, including those for queries.
func (l look) recordsSince(before look) tuning.Figure {
	if !l.asked || !before.asked {
		return tuning.Unknown
	}
	return figure(emittedPerSecond(before, l))
}
