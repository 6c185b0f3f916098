package goal

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Number writes a figure with three significant digits, thousands apart.
func Number(v *float64) string {
	if v == nil {
		return "-"
	}
	n := *v
	switch size := math.Abs(n); {
	case n == 0:
		return "0"
	case size >= 1000:
		unit := math.Pow(10, math.Floor(math.Log10(size))-2)
		return thousands(strconv.FormatFloat(math.Round(n/unit)*unit, 'f', 0, 64))
	default:
		digits := max(0, 2-int(math.Floor(math.Log10(size))))
		return strconv.FormatFloat(n, 'f', digits, 64)
	}
}

// thousands sets commas.
func thousands(digits string) string {
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// limitText is a limit's text with its number as figures have it.
func limitText(goal string) string {
	l, err := ParseLimit(goal)
	if err != nil {
		return goal
	}
	number := strconv.FormatFloat(l.Number, 'f', -1, 64)
	return strings.Replace(goal, number, thousandsOf(number), 1)
}

// thousandsOf is thousands of a number that may have a fraction.
func thousandsOf(number string) string {
	whole, fraction, has := strings.Cut(number, ".")
	if has {
		return thousands(whole) + "." + fraction
	}
	return thousands(whole)
}

func yes(met bool) string {
	if met {
		return "yes"
	}
	return "no"
}

// Table prints the goals, each with its parts below it, and what is missing.
func (f *File) Table(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "goal\twhat\tgoal\tours\tpeer\tfloor\tratio\tmet\tscale")
	for _, g := range f.Goals {
		fmt.Fprintf(table, "%d\t%s\t\t\t\t\t\t%s\t\n", g.ID, g.What, yes(g.Met))
		for _, p := range g.Parts {
			peer := Number(p.Peer)
			if p.PeerName != "" {
				peer += " " + p.PeerName
			}
			fmt.Fprintf(table, "\t  %s\t%s\t%s %s\t%s\t%s\t%s\t%s\t%s\n", p.What, limitText(p.Goal), Number(p.Ours),
				p.Unit, peer, Number(p.Floor), Number(p.Ratio), yes(p.Met), p.Scale)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	met := 0
	for _, g := range f.Goals {
		if g.Met {
			met++
		}
		for _, m := range g.Missing {
			fmt.Fprintf(to, "goal %d is without %s\n", g.ID, m)
		}
	}
	_, err := fmt.Fprintf(to, "%d of %d goals met; %.0f minutes of measuring\n", met, len(f.Goals), f.BusySeconds/60)
	return err
}
