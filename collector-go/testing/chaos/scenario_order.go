package chaos

import "context"

// order is scenario 10: batches come in any order and up to three times, up to the allowed lateness, and some come
// later. It is played inside the process, over a journal, a feed and a store on a disk in memory, beside the run in
// which all comes in order.
func order() Scenario {
	return Scenario{Number: 10, Fault: "order of arrival", Full: 2000, Try: playOrder}
}

var arrivals = property{pkg: "./internal/collector/feed", test: "TestAnyOrder", first: "arrival.first",
	count: "arrival.seeds", atOnce: 50}

func playOrder(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	played, broken, err := arrivals.play(ctx, g, tries)
	o.Tries, o.Acknowledged, o.Broken = tries, played["samples"], broken
	o.Measured = append(o.Measured, played.text("doubled_batches", "late")+" samples")
	return o, err
}
