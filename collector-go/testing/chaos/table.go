package chaos

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// WriteTable writes one line a scenario, and behind them what was measured and what is broken.
func WriteTable(to io.Writer, results []Result) error {
	for _, r := range results {
		for _, line := range r.Measured {
			fmt.Fprintf(to, "%2d %s: %s\n", r.Number, r.Fault, line)
		}
		for _, line := range r.Broken {
			fmt.Fprintf(to, "%2d %s: BROKEN: %s\n", r.Number, r.Fault, line)
		}
	}
	fmt.Fprintln(to)
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "row\tfault\ttries\tacknowledged\tlost\tdoubled\tdamaged\texpired\tseconds\tverdict\tversion\tended\t")
	for _, r := range results {
		fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t%s\t%s\t%s\t\n", r.Number, r.Fault, r.Tries,
			r.Acknowledged, r.Lost, r.Doubled, r.Damaged, r.Expired, r.Seconds, r.Verdict,
			r.Version, r.Date.Format(time.DateTime))
	}
	return t.Flush()
}
