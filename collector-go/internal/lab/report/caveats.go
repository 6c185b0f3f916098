package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// caveats are what a reader must know before using the numbers elsewhere.
func caveats(run *runstore.Figures, r *Report) []string {
	out := generalCaveats(run.HasPercentiles())
	out = append(out, idleCaveat(run)...)
	out = append(out, r.Collection.relaunchCaveat()...)
	if r.Collection.MissingSlices > 0 {
		out = append(out, fmt.Sprintf("%d of %d worker slices are missing; they are gaps in the figures.",
			r.Collection.MissingSlices, r.Collection.ExpectedSlices))
	}
	if run.CollectorRestarts > 0 {
		out = append(out,
			fmt.Sprintf("The collector was started again %d times during the run.", run.CollectorRestarts))
	}
	for _, w := range run.Workers {
		if len(w.Pids) > 1 {
			out = append(out,
				fmt.Sprintf("Worker %s was started again by Storm: its processes were %v.", w.Name, w.Pids))
		}
	}
	return append(out, run.Notes...)
}

// oneMachine is the caveat of runs on the local cluster.
const oneMachine = "Everything ran on one machine: the cluster, the load client and the collector share its " +
	"processors with the workers. " +
	"Each step states how much of the host was idle and what each process took."

// generalCaveats hold for every run; percentiles is whether the latency hook reported the filter latency's
// distribution.
func generalCaveats(percentiles bool) []string {
	distribution := "no percentile can be made from it, and none of the latency hook's (topology.auto.task.hooks) is " +
		"kept with the figures."
	if percentiles {
		distribution = "its percentiles are not made from it, but from the latency hook's histogram " +
			"(" + hookHistogram + "), which is of all records."
	}
	return []string{
		"The figures hold for this schema, record size, record rate and these versions; other data and other queries " +
			"cost differently.",
		"What else ran on the hosts meanwhile, neighbours on a shared cluster among it, is in the figures: compare " +
			"the idle of each step.",
		"Storm counts and times tuples on a sample of them (topology.stats.sample.rate, one in twenty unless set): " +
			"what is made of its counts is an estimate.",
		"Times are those of each host's own clock; skew between hosts is stated where it is known and taken out of " +
			"nothing.",
		"Filter latency is the " + filterLatencyStatistic + "; " + distribution,
		"Warm-up is left out of every step's averages; the figures over time show it.",
	}
}

func idleCaveat(run *runstore.Figures) []string {
	target, reached := run.Calibration.TargetIdle, run.Steps[0].HostIdle
	if !target.Known() || !reached.Known() || run.Steps[0].Queries > 0 {
		return nil
	}
	if d := reached - target; d < runstore.IdleTolerance && d > -runstore.IdleTolerance {
		return nil
	}
	return []string{
		fmt.Sprintf("The record rate was to leave %.0f%% of the host idle at 0 queries; it left %.0f%%.", 100*target,
			100*reached),
	}
}
