package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// rowTable is what each configuration came to.
func (r *RunReport) rowTable() table {
	if r.Analysis == rundir.OfTimeline {
		return r.timelineTable()
	}
	t := table{Heads: []string{"Configuration", "Verdict", "Capacity, " + r.axis()}, Numeric: []bool{false, false, true}}
	repeated := slices.ContainsFunc(r.Rows, func(row RowReport) bool { return len(row.Repeats) > 1 })
	if repeated {
		t.Heads, t.Numeric = append(t.Heads, "Capacity of each repeat"), append(t.Numeric, false)
	}
	t.Heads, t.Numeric = append(t.Heads, "Limited by", "Least "+r.host()+" idle", "Launches"), append(t.Numeric, false, true, true)
	for _, row := range r.Rows {
		cells := []string{cmp.Or(row.Label, "–"), string(row.Verdict), intervalText(row.Capacity)}
		if repeated {
			cells = append(cells, row.capacities())
		}
		t.Rows = append(t.Rows, append(cells, row.limiters(), percent(row.LeastHostIdle), strconv.Itoa(row.Launches)))
	}
	return t
}

func (row *RowReport) limiters() string { return cmp.Or(strings.Join(row.Limiters, "; "), "–") }

// capacities are those of each repeat by itself; nothing where there was one.
func (row *RowReport) capacities() string {
	if len(row.Repeats) < 2 {
		return ""
	}
	var all []string
	for _, c := range row.Repeats {
		all = append(all, intervalText(c))
	}
	return strings.Join(all, "; ")
}

// timelineTable has what a timeline is run for in the place of a capacity, which it has none of.
func (r *RunReport) timelineTable() table {
	t := table{Heads: []string{"Configuration", "Verdict", "Added delay, mean ms", "Time to find a record, mean ms", "Records found", "Limited by", "Least " + r.host() + " idle", "Launches"},
		Numeric: []bool{false, false, true, true, true, false, true, true}}
	for _, row := range r.Rows {
		var delays, times []tuning.Estimate
		found, asked := 0, 0
		for _, line := range r.Judged.Timelines {
			if line.configuration != row.Configuration {
				continue
			}
			delays, times = append(delays, line.AddedDelay), append(times, line.FindTime)
			found, asked = found+line.Returned, asked+line.Queries
		}
		records := "–"
		if asked > 0 {
			records = fmt.Sprintf("%d of %d", found, asked)
		}
		t.Rows = append(t.Rows, []string{cmp.Or(row.Label, "–"), string(row.Verdict), meansText(delays), meansText(times), records, row.limiters(), percent(row.LeastHostIdle),
			strconv.Itoa(row.Launches)})
	}
	return t.withoutBlank()
}

// meansText is a mean with its interval; of several launches their mean with its spread.
func meansText(all []tuning.Estimate) string {
	var values []Figure
	for _, e := range all {
		values = append(values, e.Value)
	}
	switch s := SpreadOf(values); {
	case s.Launches > 1:
		return s.String()
	case s.Launches == 0:
		return "–"
	}
	for _, e := range all {
		if e.Value.Known() && e.Low.Known() && e.High.Known() && e.High > e.Low {
			return fmt.Sprintf("%s (%s%%: %s)", tuning.Digits(e.Value), tuning.Digits(Figure(100*tuning.DefaultConfidence)), between(e.Low, e.High))
		}
	}
	return tuning.Digits(SpreadOf(values).Mean)
}
