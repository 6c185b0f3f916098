package load

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Submitter submits one query and returns its answer when the query has ended. An error means that there is no answer.
// Implementations must be safe for concurrent use; Gateway and DRPC are the two.
type Submitter interface {
	Query(ctx context.Context, bql string) (Answer, error)
}

// desk submits a query and checks its answer against the records that the source generated meanwhile. Both load models
// use it, so that an outcome means the same in both. It has no state and is safe for concurrent use.
type desk struct {
	query  Query
	target Submitter
	grace  time.Duration   // how long after its own end a query may take to return
	run    context.Context // context of all queries
}

// start holds the scheduled start of a query, and the time from which only the client can have delayed it.
type start struct{ intended, ready time.Time }

// ask submits a query for a probe and waits for its end.
func (d desk) ask(slot int, probe string, s start) Outcome {
	ctx, cancel := context.WithTimeout(d.run, d.query.Life()+d.grace)
	defer cancel()
	submitted := time.Now()
	answer, err := d.target.Query(ctx, d.query.BQL(probe))
	finished := time.Now()
	outcome := Outcome{
		Class: d.query.Class(), Slot: slot, Probe: probe, IntendedMs: s.intended.UnixMilli(),
		SubmittedMs: submitted.UnixMilli(), FinishedMs: finished.UnixMilli(),
		LatencyUs: finished.Sub(s.intended).Microseconds(), LateUs: max(0, submitted.Sub(s.ready).Microseconds()),
		End: d.end(ctx, err, finished.Sub(submitted)), Generated: generated(d.query.ProbeRate(), submitted, finished),
	}
	var check Check
	if err == nil {
		if check, err = d.query.Check(answer, probe, arrived(answer, submitted, finished), finished); err != nil {
			outcome.End = Failed
		}
	}
	if err != nil {
		outcome.Error, outcome.Refused = err.Error(), Refused(err)
		return outcome
	}
	outcome.Records, outcome.Expected = check.Records, check.Expected
	outcome.Missing, outcome.Repeated, outcome.Foreign = check.Missing, check.Repeated, check.Foreign
	return outcome
}

// arrived returns when the topology received the query, if bullet.result.metadata contains it; otherwise when it was
// submitted. A query that took long to reach an overloaded topology is therefore not blamed for records made
// meanwhile. A time outside of the query's life comes from another clock and is ignored.
func arrived(answer Answer, submitted, finished time.Time) time.Time {
	var meta struct {
		Query struct {
			ReceivedMs int64 `json:"Receive Time"`
		}
	}
	if json.Unmarshal(answer.Meta, &meta) != nil {
		return submitted
	}
	if received := time.UnixMilli(meta.Query.ReceivedMs); received.After(submitted) && received.Before(finished) {
		return received
	}
	return submitted
}

// overdue reports whether a query that has not returned should have returned.
func (d desk) overdue(life time.Duration) bool { return life > d.query.Life()+5*settling }

func (d desk) end(ctx context.Context, err error, life time.Duration) End {
	abandoned := d.run.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
	switch {
	case err == nil:
		return Returned
	case abandoned && d.overdue(life):
		return Unfinished
	case abandoned:
		return CutOff
	case ctx.Err() != nil && d.run.Err() == nil:
		return TimedOut
	}
	return Failed
}
