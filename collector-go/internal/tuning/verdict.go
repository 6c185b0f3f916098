package tuning

import (
	"fmt"
	"math"
	"slices"
)

// Verdict is the outcome of a step or of a run.
type Verdict string

// The verdicts.
const (
	OK           Verdict = "OK"
	Fail         Verdict = "FAIL"
	Inconclusive Verdict = "inconclusive"
)

// StepFigures are what was measured in one step, warm-up left out.
type StepFigures struct {
	// Queries is how many were held running at the same time.
	Queries int
	// FilterLatencyMeanMs is the mean over time and filter tasks of bullet_filter_latency, itself a mean; NaN if unknown.
	FilterLatencyMeanMs float64
	// AverageResultSize is the mean number of records of the queries that returned; NaN if none did.
	AverageResultSize float64
	// Returned, Failed and Unfinished count the step's queries by how they ended.
	Returned, Failed, Unfinished int
	// HostIdle is the ratio of the host's processors that was idle; NaN if unknown.
	HostIdle float64
	// HostElsewhere says that the host is none that workers run on: it excuses nothing and need not be known.
	HostElsewhere bool
	// LimitedByTopology says that the limit was shown to be the topology itself, so that a busy host excuses nothing.
	LimitedByTopology bool
}

// Judgement is a verdict with what led to it, most telling first. The reasons of an OK are empty.
type Judgement struct {
	Verdict Verdict
	Reasons []string
}

// completenessSlack absorbs rounding where an average is exactly at the border.
const completenessSlack = 1e-9

// Judge gives the verdict of one step. A starved host makes it inconclusive, whatever the other figures say; after that a
// goal that was missed is a FAIL, and a goal that could not be checked is inconclusive.
func (g Goals) Judge(f StepFigures) Judgement {
	if starved := g.starved(f); starved != "" {
		return Judgement{Inconclusive, []string{starved}}
	}
	if missed := g.missed(f); len(missed) > 0 {
		return Judgement{Fail, missed}
	}
	if unknown := g.unknown(f); len(unknown) > 0 {
		return Judgement{Inconclusive, unknown}
	}
	return Judgement{Verdict: OK}
}

func (g Goals) starved(f StepFigures) string {
	if f.LimitedByTopology || f.HostElsewhere || !(f.HostIdle < g.MinHostIdle) {
		return ""
	}
	return fmt.Sprintf("only %.1f%% of the host was idle (less than %.0f%%): the figures are the host's, not the topology's",
		100*f.HostIdle, 100*g.MinHostIdle)
}

func (g Goals) missed(f StepFigures) []string {
	var missed []string
	if f.FilterLatencyMeanMs > g.FilterLatencyLimitMs {
		missed = append(missed, fmt.Sprintf("mean filter latency %.1f ms is above %.0f ms", f.FilterLatencyMeanMs, g.FilterLatencyLimitMs))
	}
	if f.Queries == 0 {
		return missed
	}
	if f.AverageResultSize < g.SmallestResultSize()-completenessSlack {
		missed = append(missed, fmt.Sprintf("average result size %.2f is below %.2f: records were lost",
			f.AverageResultSize, g.SmallestResultSize()))
	}
	if f.Failed > 0 {
		missed = append(missed, fmt.Sprintf("%d of %d queries failed", f.Failed, f.Failed+f.Returned+f.Unfinished))
	}
	return missed
}

func (g Goals) unknown(f StepFigures) []string {
	var unknown []string
	if math.IsNaN(f.HostIdle) && !f.HostElsewhere {
		unknown = append(unknown, "how busy the host was is not known")
	}
	if math.IsNaN(f.FilterLatencyMeanMs) {
		unknown = append(unknown, "no filter latency was reported")
	}
	if f.Queries == 0 {
		return unknown
	}
	if math.IsNaN(f.AverageResultSize) || f.Returned == 0 {
		unknown = append(unknown, "no query returned in this step")
	}
	if f.Unfinished > 0 {
		unknown = append(unknown, fmt.Sprintf("%d queries had not returned when the run ended", f.Unfinished))
	}
	return unknown
}

// worst orders verdicts from the one that decides a run to the one that decides nothing.
var worst = []Verdict{Fail, Inconclusive, Limited}

// Overall is the verdict of a run: the worst of its steps', FAIL before inconclusive before limited. A run without steps is
// inconclusive.
func Overall(steps []Judgement) Verdict {
	for _, verdict := range worst {
		if slices.ContainsFunc(steps, func(j Judgement) bool { return j.Verdict == verdict }) {
			return verdict
		}
	}
	if len(steps) == 0 {
		return Inconclusive
	}
	return OK
}
