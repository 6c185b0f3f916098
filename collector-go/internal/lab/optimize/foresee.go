package optimize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// maxForeseen is the largest number of trials that Foresee returns.
const maxForeseen = 200

// Foresee returns the next proposals of the search. It assumes that every trial has the outcome that the model expects
// and that none must be repeated. A dry run shows them. The first one is the next trial. The result is empty if the
// search has ended.
func (s *Search) Foresee(trials []Trial) (way []Proposal, err error) {
	trials = slices.Clone(trials)
	for len(way) < maxForeseen {
		next, more, err := s.Next(trials)
		if err != nil || !more {
			return way, err
		}
		t := Unmeasured(next.Point)
		if t.Verdict = tuning.OK; next.Holds < 0.5 {
			t.Verdict = tuning.Fail
		}
		way, trials = append(way, next), append(trials, t)
	}
	return way, nil
}

// maxListed is the largest number of trials that an outlook lists, including the first one.
const maxListed = 10

// Outlook is what a dry run shows: the trials that are left, and about how long they take.
type Outlook struct {
	Configurations int `json:"configurations"`
	// KeptTrials have already finished.
	KeptTrials int `json:"kept_trials"`
	// First is the next configuration; null if none is left.
	First map[string]any `json:"first"`
	Why   string         `json:"why"`
	// Then are the configurations after it, at most maxListed-1, if each trial has the outcome that the model expects.
	Then []string `json:"then"`
	// AboutTrials is the number of trials if each has the outcome that the model expects and none is repeated.
	AboutTrials  int     `json:"about_trials"`
	TrialSeconds float64 `json:"trial_s"`
	AboutSeconds float64 `json:"about_s"`
	// MostTrials and MostSeconds are the budget, 0 for none.
	MostTrials  int     `json:"at_most_trials"`
	MostSeconds float64 `json:"at_most_s"`

	grid  bool
	first string
}

// Outlook returns the outlook of the search after these trials. trialSeconds is about how long a trial takes.
func (s *Search) Outlook(trials []Trial, trialSeconds float64) (Outlook, error) {
	way, err := s.Foresee(trials)
	if err != nil {
		return Outlook{}, err
	}
	points, why := tuning.Each(way, func(p Proposal) Point { return p.Point }), ""
	if len(way) > 0 {
		why = way[0].Why
	}
	o := s.outlook(len(trials), points, why, trialSeconds)
	o.MostTrials, o.MostSeconds = s.options.Budget.Trials, s.options.Budget.Seconds
	return o, nil
}

// GridOutlook returns the outlook of a grid, which has no budget. left are its configurations without a trial.
func (s *Search) GridOutlook(kept int, left []Point, trialSeconds float64) Outlook {
	o := s.outlook(kept, left, "the grid", trialSeconds)
	o.grid = true
	return o
}

func (s *Search) outlook(kept int, points []Point, why string, trialSeconds float64) Outlook {
	o := Outlook{Configurations: s.Configurations(), KeptTrials: kept, Why: why, Then: []string{},
		AboutTrials: len(points), TrialSeconds: trialSeconds, AboutSeconds: float64(len(points)) * trialSeconds}
	if len(points) > 0 {
		o.First, o.first = s.grid.space.Configured(points[0]), s.grid.space.Text(points[0])
		o.Then = tuning.Each(points[1:min(len(points), maxListed)], s.grid.space.Text)
	}
	return o
}

// Text returns the outlook as text. dir is the directory with the finished trials.
func (o Outlook) Text(experiment, dir string) string {
	var text strings.Builder
	line := func(is bool, format string, args ...any) {
		if is {
			fmt.Fprintf(&text, format+"\n", args...)
		}
	}
	line(true, "%s: %s", experiment, tuning.Counted(o.Configurations, "configuration"))
	line(o.KeptTrials > 0, "  stored in %s: %s", dir, tuning.Counted(o.KeptTrials, "trial"))
	line(o.First == nil, "  no trial is left")
	if o.First != nil {
		line(true, "  first: %s (%s)", o.first, o.Why)
		for _, then := range o.Then {
			line(true, "  then: %s", then)
		}
		line(true, "  about %s of %s each: %s", tuning.Counted(o.AboutTrials, "trial"), tuning.Took(o.TrialSeconds),
			tuning.Took(o.AboutSeconds))
		line(!o.grid, "  This assumes the outcomes that the model expects. Trials whose verdict noise may have changed are repeated.")
	}
	line(o.MostTrials > 0, "  at most %s", tuning.Counted(o.MostTrials, "trial"))
	line(o.MostSeconds > 0, "  at most %s", tuning.Took(o.MostSeconds))
	return text.String()
}
