package predict

import (
	"fmt"
	"path/filepath"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// OfTable reads a CSV file: filter bolts by queries, data volumes, or steps of simultaneous queries (as for tune
// analyze). The columns decide which it is. gridRecords is the record rate for a table that has none; it may be
// unknown. A table does not say on which machine it was measured, so each file is a world of its own. Each
// configuration of a file is a launch.
func OfTable(path string, gridRecords tuning.Figure) (*Source, error) {
	s := &Source{Name: path, Records: tuning.Unknown, LeftOut: map[string]int{}}
	about, err := csvtable.About(path)
	if err != nil {
		if _, rows, other := csvtable.Concurrency(path); other == nil {
			s.addConcurrency(rows, gridRecords)
			return s, nil
		}
		return nil, err
	}
	switch about {
	case csvtable.OfQueries:
		table, err := csvtable.Queries(path)
		if err != nil {
			return nil, err
		}
		if !table.RecordsPerS.Known() {
			table.RecordsPerS = gridRecords
		}
		s.addQueries(table)
	case csvtable.OfData:
		_, rows, err := csvtable.Data(path, csvtable.CPUEach)
		if err != nil {
			return nil, err
		}
		s.addVolumes(rows)
	default:
		return nil, fmt.Errorf("%s is a table of %s and has no steps; name a table of filter bolts by queries, data volumes or simultaneous queries",
			path, about)
	}
	return s, nil
}

// row adds a row of the table as an observation and returns it. The pointer is valid until the next call.
func (s *Source) row(configuration string, load Load, setup Setup, measured map[Figure]float64) *Observation {
	s.Observations = append(s.Observations, Observation{World: s.Name, Launch: s.Name + " " + configuration,
		Configuration: configuration, Load: load, Setup: setup, Measured: measured,
		Step: fmt.Sprintf("%s, line %d", filepath.Base(s.Name), len(s.Observations)+2)})
	return &s.Observations[len(s.Observations)-1]
}

// addQueries adds each point of the grid as a step. Points whose verdict says nothing about the topology are counted in
// LeftOut.
func (s *Source) addQueries(table *csvtable.QueryTable) {
	s.Records = table.RecordsPerS
	for _, p := range table.Points {
		if p.Verdict == tuning.Inconclusive || p.Verdict == tuning.Limited {
			s.LeftOut[starved]++
			continue
		}
		s.Setup = Setup{}.With(tuning.FilterBolt, float64(p.FilterBolts))
		s.row(fmt.Sprintf("%d filter bolts", p.FilterBolts), Load{float64(p.Queries), table.RecordsPerS}, s.Setup,
			map[Figure]float64{Latency: p.LatencyMs})
	}
}

// addVolumes adds each volume with the configuration that held it. Only the first row of a volume is used, because it
// has the totals. The figures are requested and not used resources, except for a column of used cores.
func (s *Source) addVolumes(rows []tuning.DataRow) {
	seen := map[float64]bool{}
	for _, r := range rows {
		if seen[r.RecordsPerS] {
			continue
		}
		seen[r.RecordsPerS] = true
		o := s.row(fmt.Sprintf("for %s records/s", tuning.Digits(tuning.Figure(r.RecordsPerS))),
			Load{0, tuning.Figure(r.RecordsPerS)}, Setup{}, map[Figure]float64{})
		o.put(CoresHeld, tuning.Figure(r.TotalCPUCores))
		o.put(CPU, tuning.Figure(r.UsedCPUCores))
		o.put(MemoryHeld, tuning.Figure(r.TotalMemoryMiB))
	}
}

// addConcurrency adds the rows as steps of one configuration, because such a table varies only the queries.
func (s *Source) addConcurrency(rows []tuning.ConcurrencyRow, records tuning.Figure) {
	s.Records = records
	const msPerCore = 60_000
	for _, r := range rows {
		if r.Verdict == tuning.Inconclusive || r.Verdict == tuning.Limited {
			s.LeftOut[starved]++
			continue
		}
		setup := Setup{Workers: float64(tuning.Greater(0, r.Workers))}
		o := s.row("the table's", Load{float64(r.Queries), records}, setup, map[Figure]float64{})
		o.put(WorkerCPU, r.AverageCPUMsPerMinute/msPerCore)
		o.put(CPU, r.TotalCPUMsPerMinute/msPerCore)
	}
}
