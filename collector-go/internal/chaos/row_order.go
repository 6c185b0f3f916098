package chaos

import (
	"context"
	"fmt"
)

// order is row 10: batches come in any order and up to three times, up to the allowed lateness, and some come later. It is played inside the process,
// over a journal, a feed and a store on a disk in memory, beside the run in which all comes in order.
func order() Row {
	return Row{Number: 10, Fault: "order of arrival", Full: 2000, Try: playOrder}
}

func playOrder(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	tested, err := g.Test(ctx, "./internal/feed", "^TestAnyOrder$", fmt.Sprintf("-arrival.first=%d", g.Seed), fmt.Sprintf("-arrival.seeds=%d", tries))
	if err != nil {
		return o, err
	}
	o.Tries, o.Acknowledged = tries, tested.Tally["samples"]
	if tested.Broken != "" {
		o.Broken = append(o.Broken, tested.Broken)
	}
	o.Measured = append(o.Measured, fmt.Sprintf("%d batches came again, %d samples came later than allowed and were counted", tested.Tally["doubled_batches"], tested.Tally["late"]))
	return o, nil
}
