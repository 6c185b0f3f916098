package goal

import (
	"math"
	"strings"
)

// Part is one comparison of a goal.
type Part struct {
	What string `json:"what"`
	Unit string `json:"unit"`
	// Goal is a Limit's text.
	Goal string `json:"goal"`
	// Ours and Peer are medians; nil where there is none.
	Ours     *float64 `json:"ours"`
	Peer     *float64 `json:"peer"`
	PeerName string   `json:"peer_name,omitempty"`
	// Floor is the median of package floor, where it does the same. Nothing is judged by it.
	Floor *float64 `json:"floor,omitempty"`
	// Ratio is ours over the peer's, or over the limit's number.
	Ratio *float64 `json:"ratio"`
	// Met follows from Goal, Ours and Peer.
	Met     bool    `json:"met"`
	Margin  float64 `json:"margin"`
	Scale   string  `json:"scale"`
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds"`
	// Range is the least and the most of ours over the rounds.
	Range []float64 `json:"range,omitempty"`
	// Missing names what could not be measured, and why.
	Missing []string `json:"missing,omitempty"`
}

// Goal is one of the ten. Its figures are those of the part that is furthest from its limit, or nearest to it.
type Goal struct {
	ID      int      `json:"id"`
	What    string   `json:"what"`
	Goal    string   `json:"goal"`
	Ours    *float64 `json:"ours"`
	Peer    *float64 `json:"peer"`
	Ratio   *float64 `json:"ratio"`
	Met     bool     `json:"met"`
	Of      string   `json:"figures_of"`
	Scale   string   `json:"scale"`
	Seconds float64  `json:"seconds"`
	Missing []string `json:"missing,omitempty"`
	Parts   []Part   `json:"parts"`
}

// known is a number for JSON, which has no NaN.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// mostMargin bounds what is written: JSON has no infinity.
const mostMargin = 1e6

// judge compares a figure with a limit and, where that is a multiple of a peer's, with the best of some peers. A peer
// that has no figure is named; without any the limit is not held.
func judge(what, unit string, limit Limit, ours Figure, peers []Figure) Part {
	p := Part{What: what, Unit: unit, Goal: limit.String(), Ours: known(ours.Value), Scale: ours.Scale,
		Rounds: ours.Rounds, Seconds: ours.Seconds}
	if ours.Rounds > 1 {
		p.Range = []float64{ours.Least, ours.Most}
	}
	miss := func(f Figure) { p.Missing = append(p.Missing, f.Subject+": "+f.Why) }
	if p.Ours == nil {
		miss(ours)
	}
	best := math.NaN()
	for _, f := range peers {
		switch {
		case math.IsNaN(f.Value):
			miss(f)
		case math.IsNaN(best) || (f.Value > best) == limit.AtLeast:
			best, p.PeerName = f.Value, f.Subject
		}
	}
	p.Peer = known(best)
	over := limit.Number
	if limit.OfPeer {
		over = best
	}
	p.Ratio = known(ours.Value / over)
	p.Margin = min(limit.Margin(ours.Value, best), mostMargin)
	p.Met = limit.Met(ours.Value, best)
	return p
}

// Judge makes the goals from all that was measured.
func Judge(all Pieces) (goals []Goal) {
	for _, spec := range specs {
		g := Goal{ID: spec.id, What: spec.what}
		for _, part := range spec.parts {
			g.Parts = append(g.Parts, part(all))
		}
		worst := g.Parts[0]
		var missing []string
		for _, p := range g.Parts {
			if p.Margin < worst.Margin {
				worst = p
			}
			missing = append(missing, p.Missing...)
		}
		g.Goal, g.Ours, g.Peer, g.Ratio, g.Met, g.Of, g.Scale, g.Seconds = worst.Goal, worst.Ours, worst.Peer,
			worst.Ratio, worst.Met, worst.What, worst.Scale, worst.Seconds
		g.Missing = unique(missing)
		goals = append(goals, g)
	}
	return goals
}

func unique(texts []string) (out []string) {
	seen := map[string]bool{}
	for _, t := range texts {
		t = strings.TrimSpace(t)
		if !seen[t] {
			seen[t], out = true, append(out, t)
		}
	}
	return out
}
