package csvtable_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func TestVerdictsOfATable(t *testing.T) {
	head := "filter_bolts,queries,average_latency_ms,topology_cpu_cores,verdict\n"
	table, err := csvtable.Queries(
		file(t, head+"4,10,8,78.3,OK\n4,20,8,78.3,fail\n4,30,8,78.3,Limited\n4,40,8,78.3, inconclusive \n4,50,8,78.3,\n"))
	require.NoError(t, err)
	var got []tuning.Verdict
	for _, p := range table.Points {
		got = append(got, p.Verdict)
	}
	assert.Equal(t, []tuning.Verdict{tuning.OK, tuning.Fail, tuning.Limited, tuning.Inconclusive, ""}, got)

	_, err = csvtable.Queries(file(t, head+"4,10,8,78.3,passed\n4,20,8,78.3,2\n"))
	assert.ErrorContains(t, err,
		`line 2, column 5 (verdict): "passed" is not a verdict; write OK, FAIL, limited or inconclusive`)
	assert.ErrorContains(t, err, "line 3, column 5 (verdict)")

	steps := "simultaneous_queries,average_cpu_ms_per_minute,average_result_size,verdict\n"
	_, rows, err := csvtable.Concurrency(file(t, steps+"0,100,,baseline\n10,200,10,limited\n"))
	require.NoError(t, err)
	assert.Equal(t, []tuning.Verdict{"", tuning.Limited}, []tuning.Verdict{rows[0].Verdict, rows[1].Verdict})
	_, _, err = csvtable.Concurrency(file(t, steps+"10,200,10,fine\n"))
	assert.ErrorContains(t, err, "is not a verdict")
}

// A topology may not have reported everything about its components. Required columns are still required.
func TestVolumesOfWhichNotAllIsKnown(t *testing.T) {
	head := "data_mib_per_s,records_per_s,component,parallelism,cpu_cores_each,on_heap_mib,off_heap_mib,total_cpu_cores,total_memory_mib\n"
	_, rows, err := csvtable.Data(file(t, head+"10,100,,,,,,5,\n20,200,FilterBolt,4,,,,6,\n"), csvtable.CPUUnsaid)
	require.NoError(t, err)
	d, err := tuning.AnalyzeData(rows, 0.95)
	require.NoError(t, err)
	assert.Empty(t, d.Rows[0].Components)
	assert.Equal(t, 4, d.Rows[1].Components[0].Parallelism)
	assert.False(t, d.Rows[0].TotalMemoryMiB.Known())
	assert.Contains(t, d.Notes, "the memory of 2 of 2 volumes is unknown; they are not part of GiB per core")

	table, rows, err := csvtable.Data(file(t, head+"20,200,FilterBolt,,,,,6,\n"), csvtable.CPUUnsaid)
	require.NoError(t, err)
	_, err = tuning.AnalyzeData(rows, 0.95)
	assert.ErrorContains(t, table.Locate(err, nil), "line 2, column 4 (parallelism): 0 is not at least 1")
	_, _, err = csvtable.Data(file(t, head+"20,200,FilterBolt,4,1,1,1,,\n"), csvtable.CPUUnsaid)
	assert.ErrorContains(t, err, "line 2, column 8 (total_cpu_cores): the cell is empty")
}
