package csvtable

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// queryColumns are the columns of a grid of queries. There is one latency for each point. Only tables that a report
// wrote have a verdict, because a report judges its steps by further goals.
var queryColumns = []Column{
	{Name: tuning.ColumnFilterBolts, Kind: Whole}, {Name: tuning.ColumnQueries, Kind: Whole},
	{Name: tuning.ColumnLatency, Kind: Number},
	{Name: tuning.ColumnTopologyCPU, Kind: Number}, {Name: tuning.ColumnTopologyMemory, Kind: Number, Optional: true,
		MayBeEmpty: true},
	{Name: tuning.ColumnUsedCPU, Kind: Number, Optional: true, MayBeEmpty: true},
	{Name: tuning.ColumnRecordRate, Kind: Number, Optional: true},
	verdictColumn,
}

// QueryTable is a grid of filter bolts by queries. Its points are not judged yet; tuning.AnalyzeQueries judges them.
type QueryTable struct {
	*Table
	Points []tuning.QueryPoint
	// RecordsPerS is the record rate of the test. It is unknown if the table has no column for it.
	RecordsPerS tuning.Figure
}

// Queries reads a grid. All rows must have the same record rate, because a grid is measured at one rate.
func Queries(path string) (*QueryTable, error) {
	t, err := Open(path, queryColumns)
	if err != nil {
		return nil, err
	}
	q := &QueryTable{Table: t, RecordsPerS: tuning.Unknown}
	for i := range t.Len() {
		q.Points = append(q.Points, tuning.QueryPoint{
			FilterBolts: t.Whole(i, tuning.ColumnFilterBolts), Queries: t.Whole(i, tuning.ColumnQueries),
			LatencyMs:         float64(t.Figure(i, tuning.ColumnLatency)),
			TopologyCPUCores:  t.Figure(i, tuning.ColumnTopologyCPU),
			TopologyMemoryMiB: t.Figure(i, tuning.ColumnTopologyMemory), UsedCPUCores: t.usedCores(i),
			Verdict: t.verdict(i)})
		rate := t.Figure(i, tuning.ColumnRecordRate)
		if i > 0 && rate.Known() && rate != q.RecordsPerS {
			return nil, fmt.Errorf("%s: %g records/s, but line %d has %g; use one file per record rate",
				t.at(i, tuning.ColumnRecordRate), float64(rate), t.lines[0], float64(q.RecordsPerS))
		}
		q.RecordsPerS = rate
	}
	return q, nil
}
