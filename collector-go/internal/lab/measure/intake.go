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

// What a topology takes of records is what its source counted, as the collector stored it: one figure for a step, its
// evidence and its report. Only of a generator that counts nothing is it what the gateway's status states: the status
// is of the moment at which the gateway answers, which on a starved host is not the slices'. Of a topology that reads
// from Kafka, or from a source that is not ours, that status is the record maker's or nobody's.

// readsThroughBroker reports whether records come through a broker, by bullet-dsl's spout, instead of being made by the
// source itself.
func (t Topology) readsThroughBroker() bool {
	name, _ := t.recordSpout()
	return name == "DataSpout" || t.Settings["bullet.topology.dsl.spout.enable"] == "true"
}

// collected reports whether only the collector knows what the topology takes. That records come through a broker is
// known once the topology's facts, or the bytes that its source read, are in.
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

// recordSource is the component that emits records into the topology, in Bullet's own topology as in ours.
const recordSource = `component="DataSource",stream="default"`

// records are the totals of records that the topology took: its source's own, or else what Storm counted of the
// source's tuples, which is an estimate from a sample.
func (r *reader) records() (series []Series, estimated bool) {
	if series = r.read(recordsMetric); len(series) > 0 {
		return series, false
	}
	series = r.read(emittedMetric, recordSource)
	return series, len(series) > 0
}

// recordsRead is how many records a second the topology took in (from, to], unknown where nobody reports it, and
// whether that is an estimate from a sample. The totals are read from before the step on, since their rise in it is
// what counts.
func (s *Session) recordsRead(ctx context.Context, from, to time.Time) (rate tuning.Figure, estimated bool,
	err error) {
	read := s.reader(ctx, from.Add(-evidenceLookback), to)
	series, estimated := read.records()
	within := runstore.Span{From: from.UnixMilli(), To: to.UnixMilli()}
	return within.Increases(slicesIn(series)) / tuning.Figure(within.Seconds()), estimated, read.err
}

// lagSince is how many records wait to be read, as of the newest slice that ended at a moment or later. known is false
// until there is one; where nobody reports a lag it is unknown.
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
	other := sum(read.read(cpuMetric)) // a slice of what every worker reports states that the lag's would be there
	n := len(other.TimesMs)
	return tuning.Unknown, n > 0 && other.TimesMs[n-1] >= moment.UnixMilli(), read.err
}

// takeIn puts what the collector states that the topology took into a step, in the place of what the record maker
// states. The rate of the record maker stays only for a generator that the collector knows nothing of.
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
// ends on slice boundaries.
type offer struct {
	from, to time.Time
	base     float64       // the step's own rate, records/s
	asked    float64       // what was asked for
	made     tuning.Figure // what the record maker did, records/s without those that queries look for
	looks    [2]look       // at the machine, at from and to
}

// shortOffer is the share of what was asked for below which an offer did not show what the topology can take.
const shortOffer = 0.9

// catchUp offers more records than the step's rate; how many times the rate is taken is known when the slices are in.
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
	o.to = nextSlice(o.from.Add(milliseconds(asked.CatchUpMs)), width)
	status := func() string {
		return fmt.Sprintf("step %d: catching up, %g times %s records/s offered", step.Number,
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

// caughtUp is the ratio of what was taken of an offer to the step's rate.
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
				fmt.Sprintf("of the %s records/s that were to be caught up only %s were made: the topology might take more",
					shortNumber(o.asked), shortNumber(float64(o.made))))
		}
	}
	if taken.Known() {
		step.CatchUpRatio = max(0, taken) / tuning.Figure(o.base)
	}
	return nil
}

// probesPerSecond is how many records the source makes beside the background: those that queries look for.
func (s *Session) probesPerSecond() float64 {
	return float64(s.o.Plan.MostQueries()) * s.query.ProbeRate()
}

// A topology has caught up with a lag that is no more than comes between two reads. Records that a source in the
// topology makes itself lag as it states at the moment: near its capacity a topology would take a step to work off
// more.
const (
	settledLag   = 2 * time.Second        // of what it reads
	madeLag      = 100 * time.Millisecond // of what its own source makes
	leastLag     = 50.0                   // records
	drainLimit   = 3 * time.Minute
	drainHistory = time.Minute // over which it is seen how much it reads
)

// drain waits until what earlier load left unread is read, so that no step has another's records: the catch-up's, those
// of a step that was too much, or those that came before the launch. The source makes none meanwhile, as far as it can
// be known. It takes bounded time and notes what is left then.
func (s *Session) drain(step *runstore.Step) error {
	since := s.loaded
	if since.IsZero() {
		since = s.submitted
	}
	left := tuning.Unknown
	err := s.poll(s.ctx, drainLimit, "the topology to read what earlier load left",
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
			fmt.Sprintf("%s records of earlier load were still unread when the step began: its figures have them",
				shortNumber(float64(left))))
	} else if err != nil {
		step.Notes = append(step.Notes,
			fmt.Sprintf("how many records of earlier load were unread when the step began is not known: %v", err))
	}
	return nil
}

// finishQueries lets the queries of earlier load end, so that a load that is measured for its cost begins with none. It
// takes bounded time and notes what is left then.
func (s *Session) finishQueries() {
	s.asker.Hold(0, time.Now(), 0)
	left := 0
	err := s.poll(s.ctx, s.queryLimit(), "the queries of the load before", func(ctx context.Context) (ended bool,
		err error) {
		left, err = s.asker.InFlightBefore(ctx, time.Now().Add(s.asker.Lead())) // none begins any more
		return err == nil && left == 0, err
	})
	if err != nil && s.ctx.Err() == nil {
		s.notes = append(s.notes,
			fmt.Sprintf("%d queries of earlier load were still under way when the step began: its figures have them",
				left))
	}
}

// queryLimit is the longest that a query may take to its end.
func (s *Session) queryLimit() time.Duration {
	return s.query.Life() + load.DefaultClosedOptions().Grace
}

// settledAt is the lag up to which the topology keeps up, records.
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

// recordsSince is how many records a second the source made since an earlier look, those of queries included.
func (l look) recordsSince(before look) tuning.Figure {
	if !l.asked || !before.asked {
		return tuning.Unknown
	}
	return figure(emittedPerSecond(before, l))
}

// lateSeries are the series of records that a step's figures need, where they come from the collector.
func (s *Session) lateSeries() []string {
	if !s.collected() {
		return nil
	}
	return []string{s.selector(recordsMetric), s.selector(lagMetric)}
}
