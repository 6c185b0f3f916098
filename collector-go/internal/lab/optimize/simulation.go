package optimize

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Simulation produces trials from data instead of a cluster: from formulas with noise, or from recorded rows. A user
// can try out a search in seconds with it, and tests can compare a search with the known optimum. The noise of a trial
// depends only on the seed, the configuration and the attempt, so a simulation is reproducible in any order of trials.
type Simulation struct {
	Space  Space
	Target Target
	// Latency (in ms), Completeness (a ratio) and CatchUp are formulas. Their variables are the settings of the space
	// and records_per_second, mib_per_second and queries. A nil formula leaves the figure unknown.
	Latency, Completeness, CatchUp *Formula
	// Shares are formulas for the used share of each limiter's capacity, as a ratio. If a trial fails, the limiter with
	// the largest share is its limiter.
	Shares []Share
	// Noise is the relative standard deviation of the figures (log-normal). The noise of a row replaces it.
	Noise float64
	// NoiseUnstated hides the noise from the search, so that the search must estimate it from repeats.
	NoiseUnstated bool
	// Rows are recorded measurements. If there are rows, the formulas are not used.
	Rows []Row
	Seed uint64
	// TrialSeconds is the duration of a trial, in s.
	TrialSeconds float64
}

// Share is the formula for the used share of a limiter's capacity.
type Share struct {
	Limiter tuning.Limiter
	Used    *Formula
}

// Row is a recorded trial at a load. Unknown figures are tuning.Unknown. The verdict is "" if it follows from the
// figures, and Seconds is NaN if it was not recorded.
type Row struct {
	Trial
	RecordsPerSecond, Queries tuning.Figure
}

// Run returns the trial of a configuration. Attempts count from 1. It returns an error if a formula has no value there.
func (s *Simulation) Run(p Point, attempt int) (Trial, error) {
	if len(s.Rows) > 0 {
		return s.recorded(p, attempt), nil
	}
	t := Unmeasured(p)
	t.Noise, t.Seconds = tuning.Figure(s.Noise), s.TrialSeconds
	variables := s.Space.Variables(p)
	for name, load := range map[string]tuning.Figure{"records_per_second": s.Target.RecordsPerSecond,
		"mib_per_second": s.Target.MiBPerSecond, "queries": s.Target.Queries} {
		if load.Known() {
			variables[name] = float64(load)
		}
	}
	var faults []error
	for into, formula := range map[*tuning.Figure]*Formula{&t.LatencyMs: s.Latency, &t.Completeness: s.Completeness,
		&t.CatchUp: s.CatchUp} {
		if formula == nil {
			continue
		}
		v, err := formula.Value(variables)
		*into, faults = tuning.Figure(v), append(faults, err)
	}
	used := 0.0
	var limiter tuning.Limiter
	for _, share := range s.Shares {
		v, err := share.Used.Value(variables)
		faults = append(faults, err)
		if v > used {
			used, limiter = v, share.Limiter
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Trial{}, fmt.Errorf("the trial of %s: %w", s.Space.Text(p), err)
	}
	s.disturb(&t, s.Noise, p, attempt)
	t.Verdict = s.Target.Judge(t)
	if t.Verdict == tuning.Fail {
		t.Limiter = limiter
	}
	if s.NoiseUnstated {
		t.Noise = tuning.Unknown
	}
	return t, nil
}

// disturb multiplies latency, loss and catch-up by noise that depends only on the seed, the configuration and the
// attempt.
func (s *Simulation) disturb(t *Trial, noise float64, p Point, attempt int) {
	at := uint64(attempt)
	for _, level := range p {
		at = at*1_000_003 + uint64(level)
	}
	random := rand.New(rand.NewPCG(s.Seed, at))
	by := func() tuning.Figure { return tuning.Figure(math.Exp(noise * random.NormFloat64())) }
	t.LatencyMs *= by()
	t.Completeness = 1 - min((1-t.Completeness)*by(), 1)
	t.CatchUp *= by()
}

// recorded returns a trial from the rows of a configuration. It uses the rows at the target's load. If there are none,
// it relies on monotonicity and gives a verdict without figures: a row that held a higher load means OK, one that
// failed at a lower load means FAIL. Any other case is inconclusive.
func (s *Simulation) recorded(p Point, attempt int) Trial {
	var exact []Row
	t := Unmeasured(p)
	t.Verdict, t.Seconds = tuning.Inconclusive, s.TrialSeconds
	for _, row := range s.Rows {
		if !slices.Equal(row.Point, p) {
			continue
		}
		heavier, lighter := s.compare(row)
		switch verdict := s.verdict(row); {
		case heavier && lighter:
			exact = append(exact, row)
		case heavier && verdict == tuning.OK:
			t.Verdict = tuning.OK
		case lighter && verdict == tuning.Fail:
			t.Verdict, t.Limiter = tuning.Fail, row.Limiter
		}
	}
	if len(exact) == 0 {
		return t
	}
	row := exact[(attempt-1)%len(exact)]
	t = row.Trial
	if !t.Noise.Known() {
		t.Noise = tuning.Figure(s.Noise)
	}
	if math.IsNaN(t.Seconds) {
		t.Seconds = s.TrialSeconds
	}
	shown := s.Target.Judge(t)
	if attempt > len(exact) { // each row is used once as measured; further attempts add noise
		s.disturb(&t, float64(t.Noise), p, attempt)
	}
	// The row has its own verdict for a reason that no figure shows, or because not all figures were recorded.
	if t.Verdict = s.Target.Judge(t); row.Verdict != "" && row.Verdict != shown {
		t.Verdict = row.Verdict
	}
	if t.Verdict != tuning.Fail {
		t.Limiter = ""
	}
	return t
}

// compare reports whether the load of the row is at least the target's, and whether it is at most the target's. A load
// that either side does not state is ignored.
func (s *Simulation) compare(row Row) (heavier, lighter bool) {
	heavier, lighter = true, true
	for _, l := range [][2]tuning.Figure{{row.Queries, s.Target.Queries},
		{row.RecordsPerSecond, s.Target.RecordsPerSecond}} {
		if l[0].Known() && l[1].Known() {
			heavier, lighter = heavier && l[0] >= l[1], lighter && l[0] <= l[1]
		}
	}
	return heavier, lighter
}

// verdict returns the recorded verdict of a row, or else the verdict of its figures.
func (s *Simulation) verdict(row Row) tuning.Verdict {
	if row.Verdict != "" {
		return row.Verdict
	}
	return s.Target.Judge(row.Trial)
}

// MaxTrials is the largest number of trials of Simulate, because a search may have no budget.
const MaxTrials = 1000

// Simulate runs a search on a simulation to its end and returns the trials.
func Simulate(s *Search, from *Simulation) (trials []Trial, err error) {
	attempts := map[int]int{}
	for len(trials) < MaxTrials {
		next, more, err := s.Next(trials)
		if err != nil || !more {
			return trials, err
		}
		at := s.grid.number(next.Point)
		attempts[at]++
		t, err := from.Run(next.Point, attempts[at])
		if err != nil {
			return trials, err
		}
		trials = append(trials, t)
	}
	return trials, nil
}
