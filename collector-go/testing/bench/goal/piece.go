package goal

import (
	"math"
	"slices"
	"time"
)

// Piece is one measurement of one server.
type Piece struct {
	// Scenario is what was done, Subject whose server it was done to ("ours", or a peer's name), Round counts from 1.
	Scenario string `json:"scenario"`
	Subject  string `json:"subject"`
	Round    int    `json:"round"`
	// Scale is how much was sent, Seconds how long it took by the clock in all; Load is the machine's load average at
	// its end.
	Scale   string    `json:"scale"`
	Seconds float64   `json:"seconds"`
	Load    float64   `json:"load_average"`
	At      time.Time `json:"at"`
	// Values are what was measured; units end the names.
	Values map[string]float64 `json:"values,omitempty"`
	// Error is why there are none.
	Error string `json:"error,omitempty"`
}

// Key is what a piece is of.
type Key struct {
	Scenario, Subject string
	Round             int
}

// Key is the piece's.
func (p Piece) Key() Key { return Key{p.Scenario, p.Subject, p.Round} }

// Pieces are all that was measured.
type Pieces []Piece

// Put adds a piece, in the place of an earlier one of the same key.
func (all Pieces) Put(p Piece) Pieces {
	for i := range all {
		if all[i].Key() == p.Key() {
			all[i] = p
			return all
		}
	}
	return append(all, p)
}

// Measured reports whether there is a piece of a key that has values.
func (all Pieces) Measured(k Key) bool {
	return slices.ContainsFunc(all, func(p Piece) bool { return p.Key() == k && p.Error == "" })
}

// of are the pieces of a scenario and subject, with or without values.
func (all Pieces) of(scenario, subject string) (some Pieces) {
	for _, p := range all {
		if p.Scenario == scenario && p.Subject == subject {
			some = append(some, p)
		}
	}
	return some
}

// Figure is a median of rounds.
type Figure struct {
	Value       float64 // NaN where there is none
	Least, Most float64
	Rounds      int
	Subject     string
	Scale       string
	Seconds     float64 // of one round by the clock, the median
	Why         string  // there is none
}

// none is a figure that is missing.
func none(subject, why string) Figure { return Figure{Value: math.NaN(), Subject: subject, Why: why} }

// Figure is the median of a value over the rounds.
func (all Pieces) Figure(scenario, subject, value string) Figure {
	f := none(subject, scenario+" was not measured")
	var values, seconds []float64
	for _, p := range all.of(scenario, subject) {
		v, there := p.Values[value]
		switch {
		case p.Error != "":
			f.Why = scenario + ": " + p.Error
			continue
		case !there:
			f.Why = scenario + " gives no " + value
			continue
		}
		values, seconds, f.Scale = append(values, v), append(seconds, p.Seconds), p.Scale
	}
	if len(values) == 0 {
		return f
	}
	f.Value, f.Seconds, f.Rounds, f.Why = Median(values), Median(seconds), len(values), ""
	f.Least, f.Most = slices.Min(values), slices.Max(values)
	return f
}

// Median is the middle of some numbers, the mean of the two in the middle where their number is even; NaN of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
