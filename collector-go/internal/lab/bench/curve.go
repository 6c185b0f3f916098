package bench

import "context"

// Why a curve ends.
const (
	// ByRejections: the collector answered that it has no room.
	ByRejections = "rejections"
	// ByThroughput: more clients brought no more rows.
	ByThroughput = "throughput"
	// ByClients: as many clients as were to be tried.
	ByClients = "clients"
)

// rise is how much more a step must bring than the best before it, as a ratio.
const rise = 1.05

// leastSteps are measured whatever they bring: a curve of two points shows nothing.
const leastSteps = 4

// Curve steps through numbers of clients, until rejections appear, throughput no longer rises, or none is left. Where
// exactly these were asked for, all are measured. It returns the steps that were, and why it ended.
func Curve(ctx context.Context, clients []int, all bool, measure func(ctx context.Context, clients int) (Step, error)) (
	steps []Step, by string, err error) {
	best := 0.0
	for _, n := range clients {
		step, err := measure(ctx, n)
		if err != nil {
			return steps, "", err
		}
		steps = append(steps, step)
		switch {
		case all:
		case step.Rejected > 0:
			return steps, ByRejections, nil
		case step.RowsPerS < rise*best && len(steps) >= leastSteps:
			return steps, ByThroughput, nil
		}
		best = max(best, step.RowsPerS)
	}
	return steps, ByClients, nil
}

// Doubled are 1, 2, 4 ... clients up to a number, which is the last.
func Doubled(most int) (all []int) {
	for n := 1; n < most; n *= 2 {
		all = append(all, n)
	}
	return append(all, most)
}

// Best is the place of the step with the most rows a second, the first of equal ones; -1 where there is none.
func Best(steps []Step) int {
	best := -1
	for i, s := range steps {
		if best < 0 || s.RowsPerS > steps[best].RowsPerS {
			best = i
		}
	}
	return best
}
