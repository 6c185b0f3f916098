package chaos

import (
	"context"
	"runtime"
)

// These scenarios are played on a disk in memory, in the tests of the rooms that write: no process on a real disk can
// be stopped at its every call, or lose its power ten thousand times. The tests themselves hold what was acknowledged
// against what is there.

// crash is scenario 2: the machine or the process ends at every call of the disk, and before every acknowledgement.
func crash() Scenario {
	p := property{pkg: "./internal/collector/feed", test: "TestCrashAtEveryPoint", first: "crash.first",
		count: "crash.seeds", atOnce: 1}
	p.each = []string{"create", "write", "sync", "rename", "remove", "syncdir", "acknowledge"}
	return p.scenario(Scenario{Number: 2, Fault: "crash at a point", Full: 50}, "write", "sync", "create", "rename", "remove",
		"syncdir", "truncate", "acknowledge")
}

// powerLoss is scenario 3.
func powerLoss() Scenario {
	p := property{pkg: "./internal/collector/feed", test: "TestWhateverHappens", first: "core.first", count: "core.seeds",
		atOnce: 500}
	return p.scenario(Scenario{Number: 3, Fault: "power loss", Full: 10_000}, "power_losses", "kills", "restarts",
		"refused_batches", "late")
}

// damagedTail is scenario 4.
func damagedTail() Scenario {
	p := property{pkg: "./internal/collector/journal", test: "TestDamagedTail", first: "journal.first", count: "journal.cases",
		atOnce: 250}
	return p.scenario(Scenario{Number: 4, Fault: "damaged tail", Full: 5000}, "cases")
}

// inputOutput is scenario 6.
func inputOutput() Scenario {
	p := property{pkg: "./internal/collector/feed", test: "TestInputOutputErrorAtEveryCall", first: "crash.first",
		count: "crash.seeds", atOnce: 1}
	p.each = []string{"create", "write", "sync", "rename", "remove", "syncdir", "not_ready", "sealed_segments"}
	return p.scenario(Scenario{Number: 6, Fault: "I/O errors", Full: 50}, "write", "sync", "create", "rename", "remove",
		"syncdir", "truncate", "sealed_segments", "refused", "not_ready")
}

// everything is the scenario behind the table's: producers, network, journal, feeds and stores in one goroutine under
// one seed, and any of the faults at any time.
func everything() Scenario {
	p := property{pkg: "./internal/collector/feed", test: "TestSimulation", first: "sim.first", count: "sim.seeds", atOnce: 250}
	return p.scenario(Scenario{Number: 25, Fault: "all at once", Full: 20_000}, "kills", "power_losses", "disk_errors", "fills",
		"cuts", "partitions", "clock_steps", "store_away", "duplicates", "late",
		"expired", "forgotten")
}

// scenario is one that plays nothing but a property; figures are those of its tally that are worth keeping.
func (p property) scenario(scenario Scenario, figures ...string) Scenario {
	scenario.Try = func(ctx context.Context, g *Ground, tries int) (Outcome, error) {
		p.atOnce = max(1, min(p.atOnce, (tries+runtime.NumCPU()-1)/runtime.NumCPU())) // each processor has its part
		all, broken, err := p.play(ctx, g, tries)
		if err != nil {
			return Outcome{Broken: broken}, err
		}
		for _, figure := range p.each {
			if all[figure] == 0 {
				broken = append(broken, "not tried: "+figure)
			}
		}
		return Outcome{Tries: tries, Acknowledged: all["samples"], Damaged: all["damaged"], Broken: broken,
			Measured: []string{all.text(figures...)}}, nil
	}
	return scenario
}
