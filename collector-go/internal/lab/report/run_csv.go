package report

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// csvFiles are the run's figures as the files that tune analyze and tune size read. A number is written with all its
// digits, so that what is made of the file is what the report states.
func (r *RunReport) csvFiles() map[string][]byte {
	files := map[string][]byte{}
	t := r.Tables()
	if len(t.Points) > 0 {
		files["queries.csv"] = csvOf(pointRows(t))
	}
	if len(t.Volumes) > 0 {
		files["data.csv"] = csvOf(volumeRows(t.Volumes))
	}
	for i, c := range t.Concurrency {
		files[fmt.Sprintf("concurrency-%d.csv", i+1)] = csvOf(stepRows(c.Rows))
	}
	return files
}

func pointRows(t Tables) [][]string {
	head := []string{
		tuning.ColumnFilterBolts, tuning.ColumnQueries, tuning.ColumnLatency, tuning.ColumnTopologyCPU,
		tuning.ColumnTopologyMemory, tuning.ColumnVerdict,
	}
	if t.RecordsPerS.Known() {
		head = append(head, tuning.ColumnRecordRate)
	}
	used := slices.ContainsFunc(t.Points, func(p tuning.QueryPoint) bool { return p.UsedCPUCores > 0 })
	if used {
		head = append(head, tuning.ColumnUsedCPU)
	}
	rows := [][]string{head}
	for _, p := range t.Points {
		row := []string{
			strconv.Itoa(p.FilterBolts), strconv.Itoa(p.Queries), plain(p.LatencyMs),
			plain(float64(p.TopologyCPUCores)), plain(float64(p.TopologyMemoryMiB)), string(p.Verdict),
		}
		if t.RecordsPerS.Known() {
			row = append(row, plain(float64(t.RecordsPerS)))
		}
		if used {
			row = append(row, plain(float64(cmp.Or(p.UsedCPUCores, Unknown))))
		}
		rows = append(rows, row)
	}
	return rows
}

// volumeRows have the columns of the document's Test 6, the off-heap memory, and the cores that were used where they
// are known of each volume.
func volumeRows(volumes []tuning.DataRow) [][]string {
	components := slices.ContainsFunc(volumes, func(v tuning.DataRow) bool { return v.Component.Name != "" })
	head := []string{tuning.ColumnDataRate, tuning.ColumnRecordRate}
	if components {
		head = append(head, tuning.ColumnComponent, tuning.ColumnParallelism, tuning.ColumnCPUEach, tuning.ColumnOnHeap,
			tuning.ColumnOffHeap)
	}
	head = append(head, tuning.ColumnTotalCPU6)
	used := !slices.ContainsFunc(volumes, func(v tuning.DataRow) bool { return v.UsedCPUCores == 0 })
	if used {
		head = append(head, tuning.ColumnUsedCPU)
	}
	rows := [][]string{append(head, tuning.ColumnTotalMemory)}
	for _, v := range volumes {
		row := []string{plain(v.DataMiBPerS), plain(v.RecordsPerS)}
		switch c := v.Component; {
		case components && c.Name == "":
			row = append(row, "", "", "", "", "")
		case components:
			row = append(row, c.Name, strconv.Itoa(c.Parallelism), plain(float64(c.CPUCoresEach)),
				plain(float64(c.OnHeapMiB)), plain(float64(c.OffHeapMiB)))
		}
		row = append(row, plain(v.TotalCPUCores))
		if used {
			row = append(row, plain(v.UsedCPUCores))
		}
		rows = append(rows, append(row, plain(v.TotalMemoryMiB)))
	}
	return rows
}

func stepRows(steps []tuning.ConcurrencyRow) [][]string {
	rows := [][]string{
		{
			tuning.ColumnSimultaneousQueries, tuning.ColumnAverageCPU, tuning.ColumnAverageResultSize,
			tuning.ColumnWorkers, tuning.ColumnTotalCPU, tuning.ColumnAverageGC, tuning.ColumnVerdict,
		},
	}
	for _, s := range steps {
		rows = append(rows, []string{
			strconv.Itoa(s.Queries), plain(float64(s.AverageCPUMsPerMinute)), plain(float64(s.AverageResultSize)),
			plain(float64(s.Workers)), plain(float64(s.TotalCPUMsPerMinute)),
			plain(float64(s.AverageGCMsPerMinute)), string(s.Verdict),
		})
	}
	return rows
}

// plain writes a number as a table of CSV has it; what is not known is an empty cell.
func plain(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func csvOf(rows [][]string) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.WriteAll(rows) // a buffer takes all
	return out.Bytes()
}
