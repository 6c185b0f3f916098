package csvtable

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// concurrencyColumns are the columns of a table of steps. A result size may be empty; such a step is inconclusive,
// unless it has a verdict or no queries.
var concurrencyColumns = []Column{
	{Name: tuning.ColumnSimultaneousQueries, Kind: Whole}, {Name: tuning.ColumnAverageCPU, Kind: Number},
	{Name: tuning.ColumnAverageResultSize, Kind: Number, MayBeEmpty: true},
	{Name: tuning.ColumnWorkers, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnTotalCPU, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnAverageGC, Kind: Number, Optional: true, MayBeEmpty: true},
	verdictColumn,
}

// Concurrency reads a table of steps with simultaneous queries. Its averages are over workers. A column of its own may
// hold the total of the topology.
func Concurrency(path string) (*Table, []tuning.ConcurrencyRow, error) {
	t, err := Open(path, concurrencyColumns)
	if err != nil {
		return nil, nil, err
	}
	var rows []tuning.ConcurrencyRow
	for i := range t.Len() {
		rows = append(rows, tuning.ConcurrencyRow{
			Queries:               t.Whole(i, tuning.ColumnSimultaneousQueries),
			AverageCPUMsPerMinute: t.Figure(i, tuning.ColumnAverageCPU),
			AverageResultSize:     t.Figure(i, tuning.ColumnAverageResultSize),
			Workers:               t.Figure(i, tuning.ColumnWorkers),
			TotalCPUMsPerMinute:   t.Figure(i, tuning.ColumnTotalCPU),
			AverageGCMsPerMinute:  t.Figure(i, tuning.ColumnAverageGC),
			Verdict:               t.verdict(i)})
	}
	return t, rows, nil
}
