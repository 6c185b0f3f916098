// Package chaos plays faults against the built program and holds it to docs/reliability.md: a ledger, kept outside of
// the program, knows what was acknowledged, and asks for it again. It knows the program's protocol, its HTTP API and
// its command line, and none of its insides.
package chaos

import (
	"context"
	"math"
	"slices"
)

// Scenario is one fault of the table in docs/reliability.md.
type Scenario struct {
	// Number is the table's, 1 to 25.
	Number int
	// Fault is its name in the table: "SIGKILL", "power loss", ...
	Fault string
	// Full is how many tries make the scenario whole, at scale 1.
	Full int
	// Short is how many tries `make test-chaos` plays; 0 where other tests play the fault already, or where the
	// scenario is about time or memory.
	Short int
	// Long is set for a scenario about time or memory, whose length --skip-long spares.
	Long bool
	// Try plays the fault so often. It returns an error where the scenario could not be played; a broken promise is in
	// the Outcome.
	Try func(ctx context.Context, ground *Ground, tries int) (Outcome, error)
}

// Outcome is what came of a scenario's tries, in samples, as the ledger counts them.
type Outcome struct {
	Tries        int   `json:"tries"`
	Acknowledged int64 `json:"acknowledged"`
	// Lost was acknowledged, and neither answers nor is counted by name.
	Lost int64 `json:"lost"`
	// Doubled counts more than once, or was never sent.
	Doubled int64 `json:"doubled"`
	// Damaged was destroyed by the fault itself.
	Damaged int64 `json:"damaged"`
	// Expired was dropped by a bound, and counted.
	Expired int64 `json:"expired"`
	// Broken are other promises that were not kept (memory, time, a wrong code): what, measured, limit.
	Broken []string `json:"broken,omitempty"`
	// Measured are figures worth keeping, with units.
	Measured []string `json:"measured,omitempty"`
}

// Add adds what came of further tries.
func (o *Outcome) Add(other Outcome) {
	o.Tries += other.Tries
	o.Acknowledged += other.Acknowledged
	o.Lost += other.Lost
	o.Doubled += other.Doubled
	o.Damaged += other.Damaged
	o.Expired += other.Expired
	o.Broken = append(o.Broken, other.Broken...)
	o.Measured = append(o.Measured, other.Measured...)
}

// Expire moves what is lost to what a bound dropped, as far as the collector counted it.
func (o *Outcome) Expire(counted int64) {
	moved := min(o.Lost, counted)
	o.Lost, o.Expired = o.Lost-moved, o.Expired+moved
}

// Kept reports whether every promise was.
func (o Outcome) Kept() bool {
	return o.Lost == 0 && o.Doubled == 0 && len(o.Broken) == 0 && o.Tries >= 1
}

// Verdict is "OK" or "FAIL".
func (o Outcome) Verdict() string {
	if o.Kept() {
		return "OK"
	}
	return "FAIL"
}

// Tries is how many make the scenario at a scale: one at least.
func (r Scenario) Tries(scale float64) int {
	return max(1, int(math.Round(float64(r.Full)*scale)))
}

// Scenarios are all that can be played, in the order of the table.
func Scenarios() []Scenario {
	rows := []Scenario{
		kill(), crash(), powerLoss(), damagedTail(), fullDisk(), inputOutput(), storeDown(), catchUp(), slowStore(),
		order(), clocks(), malformed(), oversize(),
		slowClientScenario(), floods(), identities(), cardinality(), worker(), collectorRestarts(), blackhole(),
		partition(), configuration(), soak(), upgrade(), everything(),
	}
	slices.SortFunc(rows, func(a, b Scenario) int { return a.Number - b.Number })
	return rows
}
