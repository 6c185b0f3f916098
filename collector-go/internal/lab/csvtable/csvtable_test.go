package csvtable_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

const gridHead = "filter_bolts,queries,average_latency_ms,topology_cpu_cores,topology_memory_mib\n"

// grid reads and analyzes a grid of queries, as the command does.
func grid(t *testing.T, text string) error {
	table, err := csvtable.Queries(file(t, text))
	if err != nil {
		return err
	}
	_, err = tuning.AnalyzeQueries(table.Points, tuning.QueryGoals{LimitMs: 200, Headroom: 0.2, Confidence: 0.95})
	return table.Locate(err, nil)
}

// An error in a file is reported with its line, its column and how to correct it.
func TestWhatIsWrongWithAFile(t *testing.T) {
	good := gridHead + "4,10,8,78.3,1000\n"
	for name, c := range map[string]struct {
		text string
		says []string
	}{
		"empty":       {"", []string{"table.csv is empty", "filter_bolts,queries"}},
		"only blanks": {"\ufeff \r\n\n", []string{"is empty"}},
		"only commas": {",,,\n", []string{"is empty"}},
		"header only": {gridHead, []string{"line 1", "no rows"}},
		"missing column": {"filter_bolts,queries,average_latency_ms\n4,1,8\n",
			[]string{"line 1", "column topology_cpu_cores is missing"}},
		"missing columns": {"filter_bolts,queries\n4,1\n",
			[]string{"columns average_latency_ms, topology_cpu_cores are missing"}},
		"misspelled column": {strings.Replace(good, "average_latency_ms", "averge_latency_ms", 1),
			[]string{"line 1, column 3", `"averge_latency_ms"; did you mean average_latency_ms?`}},
		"another unit": {strings.Replace(good, "average_latency_ms", "average_latency_s", 1),
			[]string{"did you mean average_latency_ms? Its values are in ms; convert values of another unit"}},
		"optional in another unit": {strings.Replace(good, "topology_memory_mib", "topology_memory_mb", 1),
			[]string{"did you mean topology_memory_mib? Its values are in mib; convert values of another unit"}},
		"optional misspelled": {strings.Replace(good, "topology_memory_mib", "topolgy_memory_mib", 1),
			[]string{`"topolgy_memory_mib"; did you mean topology_memory_mib?`}},
		"semicolons and decimal commas": {strings.ReplaceAll(good, ",", ";") + "4;20;8,5;78,3;1000\n",
			[]string{"line 1", "separated by semicolons", "and write decimals with a point"}},
		"column twice": {"filter_bolts,queries,queries,average_latency_ms,topology_cpu_cores\n4,1,1,8,78\n",
			[]string{"column 3: duplicate column queries, first as column 2"}},
		"text in a number": {good + "4,twenty,8,78.3,1000\n",
			[]string{"line 3, column 2 (queries)", `"twenty" is not a number`}},
		"a unit":      {good + "4,20,8ms,78.3,1000\n", []string{"line 3, column 3", "without a unit"}},
		"hexadecimal": {good + "4,0x20,8,78.3,1000\n", []string{"is not a number"}},
		"negative cores": {good + "8,20,8,-78.3,1000\n", []string{"line 3, column 4 (topology_cpu_cores)",
			"-78.3 is negative"}},
		"no cores": {good + "8,20,8,0,1000\n", []string{"line 3, column 4 (topology_cpu_cores)",
			"0 is not above 0"}},
		"NaN":          {good + "4,20,NaN,78.3,1000\n", []string{"line 3, column 3", "not a finite number"}},
		"infinite":     {good + "4,20,-inf,78.3,1000\n", []string{"line 3, column 3", "not a finite number"}},
		"too large":    {good + "4,20,1e999,78.3,1000\n", []string{"line 3, column 3", "not a finite number"}},
		"astronomical": {good + "4,20,1e16,78.3,1000\n", []string{"line 3, column 3", "the maximum is 1e+15"}},
		"thousands":    {good + "4,20,\"1,234\",78.3,1000\n", []string{"line 3, column 3", "write 1.234 if the comma marks the decimals, or 1234 if it separates thousands"}},
		"half a query": {good + "4,20.5,8,78.3,1000\n", []string{"line 3, column 2", "whole number"}},
		"empty cell": {good + "4,20,,78.3,1000\n", []string{"line 3, column 3 (average_latency_ms)",
			"the cell is empty"}},
		"too few fields":  {good + "4,20,8\n", []string{"line 3 has 3 fields", "5 columns"}},
		"too many fields": {good + "4,20,1,234,78.3,1000\n", []string{"line 3 has 6 fields"}},
		"duplicate row": {good + "\n8,10,9,82,1000\n4,10,9,78.3,1000\n",
			[]string{"line 5, column 2 (queries)", "occur twice", "first in line 2"}},
		"other cores": {good + "4,20,9,80,1000\n", []string{"line 3, column 4 (topology_cpu_cores)",
			"first in line 2"}},
		"no filter bolts": {good + "0,20,9,80,1000\n",
			[]string{"line 3, column 1 (filter_bolts)", "not at least 1"}},
		"semicolons":    {strings.ReplaceAll(good, ",", ";"), []string{"line 1", "separated by semicolons"}},
		"tabs":          {strings.ReplaceAll(good, ",", "\t"), []string{"separated by tabs"}},
		"an open quote": {good + "4,\"20,8,78.3,1000\n", []string{"line 3", "quotes"}},
		"not text":      {"\xff\xfef\x00i\x00l\x00", []string{"is UTF-16; save it in UTF-8"}},
		"two faults, both": {good + "4,x,8,78.3,1000\n4,20,y,78.3,1000\n",
			[]string{"line 3, column 2", "line 4, column 3"}},
		"many faults, bounded": {good + strings.Repeat("a,b,c,d,e\n", 50), []string{"and 230 more"}},
		"too many rows":        {good + strings.Repeat("4,10,8,78.3,1000\n", 10_001), []string{"more than 10000 rows"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := grid(t, c.text)
			require.Error(t, err)
			for _, say := range append(c.says, "table.csv") {
				assert.ErrorContains(t, err, say)
			}
		})
	}
}

// Artefacts of programs that write CSV files are accepted.
func TestWhatIsNoFault(t *testing.T) {
	for name, text := range map[string]string{
		"byte order mark":   "\ufeff" + gridHead + "4,10,8,78.3,1000\n",
		"Windows' lines":    strings.ReplaceAll(gridHead+"4,10,8,78.3,1000\n", "\n", "\r\n"),
		"quoted fields":     `"filter_bolts","queries","average_latency_ms","topology_cpu_cores","topology_memory_mib"` + "\n" + `"4","10","8","78.3","1000"`,
		"spaces, capitals":  "Filter_Bolts, Queries ,average_latency_ms,topology_cpu_cores,topology_memory_mib\n 4, 10 ,8, 78.3,1000\n",
		"no last line end":  gridHead + "4,10,8,78.3,1000",
		"blank lines":       "\n" + gridHead + "\n4,10,8,78.3,1000\n\n,,,,\n",
		"other order":       "queries,filter_bolts,topology_cpu_cores,average_latency_ms\n10,4,78.3,8\n",
		"exponents":         gridHead + "4,1e1,8.0,78.3,1e3\n",
		"a column of notes": "filter_bolts,queries,average_latency_ms,topology_cpu_cores,remarks\n4,10,8,78.3,\"slow, later\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			table, err := csvtable.Queries(file(t, text))
			require.NoError(t, err)
			require.Len(t, table.Points, 1)
			p := table.Points[0]
			assert.Equal(t, []any{4, 10, 8.0, tuning.Figure(78.3)},
				[]any{p.FilterBolts, p.Queries, p.LatencyMs, p.TopologyCPUCores})
			assert.Equal(t, name == "a column of notes", len(table.Notes) > 0)
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	_, err := csvtable.Queries(filepath.Join(t.TempDir(), "absent.csv"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = csvtable.Queries(t.TempDir())
	assert.ErrorContains(t, err, "is a directory")
	if os.Getuid() != 0 { // root can read every file
		path := file(t, gridHead)
		require.NoError(t, os.Chmod(path, 0))
		_, err = csvtable.Queries(path)
		assert.ErrorIs(t, err, os.ErrPermission)
	}
}

func resources(t *testing.T, text string, cpu csvtable.CPU) (*tuning.Resources, error) {
	t.Helper()
	table, err := csvtable.Resources(file(t, text), cpu)
	if err != nil {
		return nil, err
	}
	return table.Analyze(tuning.Machine{CPUCores: 47, MemoryMiB: tuning.Unknown})
}

const componentHead = "component,parallelism,cpu_cores_each,on_heap_mib,off_heap_mib,total_memory_mib\n"

// Variants of the document's table and the findings of the audit.
func TestAudit(t *testing.T) {
	original, err := os.ReadFile("testdata/document/resources-test1-3.csv")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		from, to string
		column   string
		verdict  tuning.Verdict
		line     int
	}{
		"a total that is too large": {"219.5", "229.5", "cpu_cores_total", tuning.Wrong, 10},
		"a total that is too small": {"455,", "454,", "parallelism", tuning.Wrong, 10},
		"a row's memory":            {"61440", "61000", "total_memory_mib", tuning.Wrong, 2},
		"a row that is missing":     {"Ackers,256,25.6,128,0,32768\n", "", "parallelism", tuning.Partial, 9},
		"a row too many":            {"Ackers,", "Other,1,1,1,1,2\nAckers,", "parallelism", tuning.Wrong, 11},
		"a row without its off-heap": {"Ackers,256,25.6,128,0,", "Ackers,256,25.6,120,,", "total_memory_mib",
			tuning.Partial, 9},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(string(original), c.from, c.to, 1)
			require.NotEqual(t, string(original), changed)
			r, err := resources(t, changed, csvtable.CPUUnsaid)
			require.NoError(t, err)
			require.NotEmpty(t, r.Audit)
			assert.Equal(t, []any{c.column, c.verdict, c.line},
				[]any{r.Audit[0].Column, r.Audit[0].Verdict, r.Audit[0].Line})
		})
	}
}

func TestComponents(t *testing.T) {
	r, err := resources(t, componentHead+"a,4,2,100,50,600\nb,2,0.5,10,0,20\n", csvtable.CPUUnsaid)
	require.NoError(t, err)
	assert.Equal(t, tuning.Totals{Parallelism: 6, CPUCores: 9, TotalMemoryMiB: 620}, r.Totals)
	for name, c := range map[string]struct {
		text string
		cpu  csvtable.CPU
		says string
	}{
		"component twice": {componentHead + "a,4,2,100,50,600\nA,2,0.5,10,0,20\n", "",
			`line 3, column 1 (component): "A" occurs twice; keep one row per component (first in line 2)`},
		"totals twice": {componentHead + "a,4,2,100,50,600\nTotal,4,,,,\ntotal,4,,,,\n", "",
			"line 4, column 1 (component): duplicate row of totals"},
		"no CPU": {componentHead + "a,4,,100,50,600\n", "",
			"line 2, column 3 (cpu_cores_each): the cell is empty"},
		"no memory": {componentHead + "a,4,2,,,\n", "", "line 2, column 4 (on_heap_mib): the memory of a is missing"},
		"no instances": {componentHead + "a,0,2,1,1,\n", "",
			"line 2, column 2 (parallelism): 0 is not at least 1"},
		"only a total":  {componentHead + "Total,4,2,1,1,\n", "", "there are no components"},
		"no CPU column": {"component,parallelism,on_heap_mib\na,4,2\n", "", "column cpu_cores_total is missing"},
		"two CPU columns": {"component,parallelism,cpu_cores_each,cpu_cores_total,on_heap_mib\na,4,2,8,1\n", "",
			"the columns cpu_cores_total and cpu_cores_each exclude each other"},
		"CPU unsaid": {"component,parallelism,cpu_cores,on_heap_mib\na,4,2,1\n", "",
			"line 1, column 3: cpu_cores is ambiguous; use --cpu total"},
		"CPU said another": {componentHead + "a,4,2,1,1,8\n", csvtable.CPUTotal, `cpu_cores_each is not "total"`},
		"data volumes": {"data_mib_per_s," + componentHead + "1,a,4,2,1,1,8\n", "",
			"line 1, column 1: data_mib_per_s makes this a table of data volumes"},
		"control character": {componentHead + "\"a\x1b[2J\",4,2,1,1,8\n", "", "line 2, column 1 (component)"},
		"heap misspelled": {"component,parallelism,cpu_cores_each,on_heap_mb\na,4,2,1\n", "",
			`unknown column "on_heap_mb"; did you mean on_heap_mib?`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resources(t, c.text, c.cpu)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func TestVolumes(t *testing.T) {
	head := "data_mib_per_s,records_per_s,total_cpu_cores,total_memory_mib\n"
	for name, c := range map[string]struct{ text, says string }{
		"volume twice": {head + "10,100,5,1000\n10,100,5,1000\n",
			"line 3, column 1 (data_mib_per_s): 10 MiB/s with 100 records/s occurs twice; keep one row (first in line 2)"},
		"other total": {head + "10,100,5,1000\n10,100,6,1000\n",
			"line 3, column 3 (total_cpu_cores): 6 cores in total, but the same volume has 5 in another row (first in line 2)"},
		"no records": {head + "10,0,5,1000\n", "line 2, column 2 (records_per_s): 0 is not above 0"},
		"half a table": {"data_mib_per_s,records_per_s,component,total_cpu_cores,total_memory_mib\n1,1,a,1,1\n",
			"column parallelism is missing"},
		"a misspelling": {strings.Replace(head, "records_per_s", "record_per_s", 1) + "1,1,1,1\n",
			"did you mean records_per_s?"},
		"a missing one": {"data_mib_per_s,records,total_cpu_cores,total_memory_mib\n1,1,1,1\n",
			`column records_per_s (the nearest there is "records") is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			table, rows, err := csvtable.Data(file(t, c.text), "")
			if err == nil {
				_, err = tuning.AnalyzeData(rows, 0.95)
				err = table.Locate(err, nil)
			}
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func TestSteps(t *testing.T) {
	head := "simultaneous_queries,average_cpu_ms_per_minute,average_result_size,workers,total_cpu_ms_per_minute\n"
	table, rows, err := csvtable.Concurrency(file(t, head+"0,100,,2,\n10,200,10,4,900\n0,100,,2,\n"))
	require.NoError(t, err)
	_, err = tuning.AnalyzeConcurrency(rows, tuning.DefaultGoals(), 0.95)
	assert.ErrorContains(t, table.Locate(err, nil),
		"line 4, column 1 (simultaneous_queries): the step of 0 queries occurs twice; keep one row per step (first in line 2)")
	c, err := tuning.AnalyzeConcurrency(rows[:2], tuning.DefaultGoals(), 0.95)
	require.NoError(t, err)
	assert.Equal(t, tuning.Figure(200), c.Steps[0].TotalCPUMsPerMinute, "workers times their mean")
	assert.Equal(t, tuning.Figure(900), c.Steps[1].TotalCPUMsPerMinute, "as stated")
	assert.Contains(t, strings.Join(c.Notes, "\n"), "900 ms/min differs from 4 workers times their mean, which is 800")
	assert.Contains(t, strings.Join(c.Notes, "\n"), "the number of workers differs")
}

func TestCurves(t *testing.T) {
	curve, err := csvtable.Scaling(file(t, "nodes,throughput\n1,100\n2,190\n"))
	require.NoError(t, err)
	assert.Equal(t, tuning.ScalingColumns{Size: "nodes", Throughput: "throughput"}, curve.Names)
	_, err = csvtable.Scaling(file(t, "node,throughput\n1,100\n"))
	assert.ErrorContains(t, err,
		`none of the columns nodes, cores, senders, used_cpu_cores, total_cpu_cores exists (the nearest there is "node")`)
	curve, err = csvtable.Scaling(file(t, "nodes,throughput\n1,100\n2,190\n2,191\n"))
	require.NoError(t, err)
	_, err = tuning.AnalyzeScaling(curve.Rows, curve.Names, 0.25, 0.95)
	assert.ErrorContains(t, curve.Locate(err, curve.Places),
		"line 4, column 1 (nodes): size 2 occurs twice; keep one row per size (first in line 3)")
}

func TestWhatATableIsAbout(t *testing.T) {
	for name, want := range map[string]csvtable.Measurement{
		"resources-test1-3": csvtable.OfResources, "data-scaling-test6": csvtable.OfData,
		"query-scaling-test7": csvtable.OfQueries,
	} {
		about, err := csvtable.About("testdata/document/" + name + ".csv")
		require.NoError(t, err)
		assert.Equal(t, want, about)
	}
	_, err := csvtable.About("testdata/document/concurrency-test3.csv")
	assert.ErrorContains(t, err, "the kind of the table is unknown")
}

func FuzzQueries(f *testing.F) {
	f.Add([]byte(gridHead + "4,10,8,78.3,1000\n"))
	f.Add([]byte("\ufeffa,b\n\"1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "f.csv")
		require.NoError(t, os.WriteFile(path, data, 0o644))
		table, err := csvtable.Queries(path)
		if err != nil {
			return
		}
		_, err = tuning.AnalyzeQueries(table.Points, tuning.QueryGoals{LimitMs: 200, Headroom: 0.2, Confidence: 0.95})
		_ = table.Locate(err, nil)
	})
}

// A number with a comma is refused. The error lists the numbers that it may stand for, and no others.
func TestACommaInANumberIsReadInNoWayThatChangesIt(t *testing.T) {
	for cell, want := range map[string]string{
		"9,95":         "write 9.95 if",
		"78,3":         "write 78.3 if",
		"130000,5":     "write 130000.5 if",
		"-9,95":        "write -9.95 if",
		"0,125":        "write 0.125 if", // a number cannot begin with an empty group
		"90,000":       "write 90.000 if the comma marks the decimals, or 90000 if it separates thousands",
		"1,234,567":    "write 1234567, without",
		"1.234,5":      "write 1234.5 if",
		"1.234.567,8":  "write 1234567.8 if",
		"1,234.5":      "write 1234.5, without",
		"1 234,5":      "write 1234.5 if",
		"1\u00a0234,5": "write 1234.5 if",
		"1'234,5":      "write 1234.5 if",
		"1,23,456":     "write digits and a point, such as 1234.5",
		"1.23,4.5":     "write digits and a point, such as 1234.5",
		"1,2e3":        "write digits and a point, such as 1234.5",
		",":            "write digits and a point, such as 1234.5",
	} {
		err := grid(t, gridHead+"4,10,\""+cell+"\",78.3,1000\n")
		require.ErrorContains(t, err, want, cell)
		assert.ErrorContains(t, err, "line 2, column 3 (average_latency_ms): "+strconv.Quote(cell)+" has a comma; ")
	}
}
