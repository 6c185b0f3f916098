package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// rowColumn is a column of a table that has a row for each configuration.
type rowColumn = document.Of[RowReport]

// rowTable is what each configuration came to, with the data volume beside it.
func (r *RunReport) rowTable() document.Table {
	columns := []rowColumn{
		document.Text("Configuration", func(row RowReport) string { return cmp.Or(row.Label, document.Unknown) }),
		document.Text("Verdict", func(row RowReport) string { return string(row.Verdict) }),
	}
	if r.Analysis == runstore.OfTimeline {
		columns = append(columns, r.timelineColumns()...)
	} else {
		columns = append(columns, r.capacityColumns()...)
	}
	t := document.TableOf(r.Rows, append(columns, document.Text("Limited by",
		func(row RowReport) string { return cmp.Or(strings.Join(row.Limiters, "; "), document.Unknown) }),
		percentColumn("Least "+r.host()+" idle", func(row RowReport) Figure { return row.LeastHostIdle }),
		wholeColumn("Launches", func(row RowReport) int { return row.Launches }))...)
	if r.Analysis == runstore.OfTimeline {
		t = t.WithoutBlank()
	}
	return r.withVolumes(t)
}

// eachRepeat heads the column of the repeats' own capacities.
const eachRepeat = "Capacity of each repeat"

func (r *RunReport) capacityColumns() []rowColumn {
	columns := []rowColumn{
		document.Number("Capacity, "+r.axis(), "", func(row RowReport) string { return row.Capacity.Text() }),
	}
	if !slices.ContainsFunc(r.Rows, func(row RowReport) bool { return len(row.Repeats) > 1 }) {
		return columns
	}
	return append(columns, document.Text(eachRepeat, func(row RowReport) string {
		var all []string
		for _, c := range row.Repeats {
			all = append(all, c.Text())
		}
		if len(all) < 2 {
			return ""
		}
		return strings.Join(all, "; ")
	}))
}

// timelineColumns are what a timeline is run for, in the place of a capacity, which it has none of.
func (r *RunReport) timelineColumns() []rowColumn {
	return []rowColumn{
		document.Number("Added delay, mean", "ms", func(row RowReport) string {
			return r.meansText(row, func(t *tuning.Timeline) tuning.Estimate { return t.AddedDelay })
		}),
		document.Number("Time to find a record, mean", "ms", func(row RowReport) string {
			return r.meansText(row, func(t *tuning.Timeline) tuning.Estimate { return t.FindTime })
		}),
		document.Number("Records found", "", func(row RowReport) string {
			found, queries := 0, 0
			for _, t := range r.timelinesOf(row) {
				found, queries = found+t.Returned, queries+t.Queries
			}
			if queries == 0 {
				return document.Unknown
			}
			return fmt.Sprintf("%d of %d", found, queries)
		}),
	}
}

func (r *RunReport) timelinesOf(row RowReport) (all []*tuning.Timeline) {
	for _, t := range r.Judged.Timelines {
		if t.configuration == row.Configuration {
			all = append(all, t.Timeline)
		}
	}
	return all
}

// meansText is a mean with its interval; of several launches their mean with its spread.
func (r *RunReport) meansText(row RowReport, of func(*tuning.Timeline) tuning.Estimate) string {
	var values []Figure
	var only tuning.Estimate
	for _, t := range r.timelinesOf(row) {
		e := of(t)
		if values = append(values, e.Value); e.Value.Known() {
			only = e
		}
	}
	switch s := SpreadOf(values); {
	case s.Launches > 1:
		return s.String()
	case s.Launches == 0:
		return document.Unknown
	}
	if only.Low.Known() && only.High.Known() && !(only.High > only.Low) {
		only.Low = Unknown // an interval without a width is none
	}
	only.Note = ""
	return only.Text(tuning.DefaultConfidence, "")
}

// withVolumes puts the data volume beside each configuration's verdict, and below them that of the whole test where it
// is another.
func (r *RunReport) withVolumes(t document.Table) document.Table {
	width := len(t.Columns)
	t.Columns = append(t.Columns, document.Numbers("Mean records/s", ""), document.Numbers("Mean MiB/s", ""))
	add := func(v runstore.DataVolume) {
		cells := []string{document.Unknown, document.Unknown}
		if v.RecordsPerSecond.Known() {
			cells = []string{tuning.Digits(v.RecordsPerSecond), tuning.Digits(v.MiBPerSecond)}
		}
		for i, cell := range cells {
			t.Columns[width+i].Cells = append(t.Columns[width+i].Cells, cell)
		}
	}
	for i := range r.Rows {
		add(r.Volume.Configurations[i])
	}
	if len(r.Rows) > 1 && r.Volume.RecordsPerSecond.Known() {
		for i := range width {
			t.Columns[i].Cells = append(t.Columns[i].Cells, map[bool]string{true: "whole test"}[i == 0])
		}
		add(r.Volume.DataVolume)
	}
	return t
}
