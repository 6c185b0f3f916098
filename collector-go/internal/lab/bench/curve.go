package bench

import "context"

// Reasons why a curve ends.
const (
	// ByRejections means that the collector refused batches or streams for lack of capacity.
	ByRejections = "rejections"
	// ByThroughput means that more clients did not increase the rows/s.
	ByThroughput = "throughput"
	// ByClients means that the largest number of clients was measured.
	ByClients = "clients"
)

// rise is the factor by which a step must exceed the best step before it.
const rise = 1.05

// leastSteps is the minimum number of steps of a curve, whatever their throughput: two points show nothing.
const leastSteps = 4

// Curve measures steps with the given numbers of clients. It ends at the first rejection, when throughput no longer
// rises, or after the last number. With all it measures every number. It returns the measured steps, and why the curve
// ended.
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

// Doubled returns 1, 2, 4 ... and finally most.
func Doubled(most int) (all []int) {
	for n := 1; n < most; n *= 2 {
		all = append(all, n)
	}
	return append(all, most)
}

// Best returns the index of the step with the most rows/s, the first of equal ones; -1 if there are no steps.
func Best(steps []Step) int {
	best := -1
	for i, s := range steps {
		if best < 0 || s.RowsPerS > steps[best].RowsPerS {
			best = i
		}
	}
	return best
}
