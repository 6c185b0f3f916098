package report_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// markdownOfRun returns a run's report as Markdown.
func markdownOfRun(t *testing.T, dir string) string {
	t.Helper()
	r, err := report.OpenRunReport(dir)
	require.NoError(t, err)
	out := t.TempDir()
	require.NoError(t, r.Write(out))
	text, err := os.ReadFile(filepath.Join(out, "report.md"))
	require.NoError(t, err)
	return string(text)
}

// A launch by a command uses a cluster. Its machines are counted, and the host of the load is reported separately.
func TestTheClustersMachinesAreCounted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	littleHeap.write(t, dir)
	edited(t, dir, runstore.TrialsDir+"/01-as-it-is/run.json", func(run *runstore.Figures) {
		run.Requested.Components[1].CPUCoresTotal, run.Requested.Totals.CPUCores = 215.5, 219.5
	})
	text := markdownOfRun(t, dir)
	for _, want := range []string{
		"Machines: 5, limited by cpu (219.5 cores / 47 = 4.67",
		"| Machines of the cluster | 20 |", "| Each machine: Processors | 48 x a made-up processor |",
		"| Each machine: Usable cores | 47 of 48 |", "| Each machine: Memory | 256.0 GiB |",
		"| Each machine: Network | 25 Gbit/s |", "| Load host: Processors | 4 x a made-up small processor |",
		"| Load host: Usable cores | 4 of 4 |",
		"| Kafka | 4.1.1 |", "| Java of the load host | 17.0.12 |", "| Compression ratio | 1.2 |",
		"| Launched by | storm jar bullet-topology.jar --name test4-01 -c 'kafka.password=(not shown)' -c 'topology.worker.childopts=-XX:+UseG1GC -Xmx1g' |",
		"| Heap flags in effect | -Xmx4096m |", "| Heap limit of a worker | 4096 MiB |",
		"| kafka.password | (not shown) |",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "hush")

	edited(t, dir, runstore.ManifestFile, func(m *runstore.Manifest) { m.Cluster = nil })
	text = markdownOfRun(t, dir)
	assert.Contains(t, text,
		"The number of machines is unknown, because the machines of the cluster are unknown: set cluster.machines.")
	assert.Contains(t, text, "| Machines of the cluster | unknown; set cluster.machines in the experiment file |")
	assert.NotContains(t, text, "limited by cpu (")
}

// On the local cluster there is only one machine.
func TestTheOnlyMachineIsCounted(t *testing.T) {
	text := markdownOfRun(t, sampleRun)
	assert.Contains(t, text, "| Processors | 2 x a made-up processor |")
	assert.Contains(t, text, "| Usable cores | 2 of 2 |")
	assert.NotContains(t, text, "Load host: ")
	assert.NotContains(t, text, "Machines of the cluster")
	assert.NotContains(t, text, "heap flags in effect | -Xmx384m | -Xmx384m", "they share it")

	dir := copied(t, sampleRun)
	edited(t, dir, runstore.TrialsDir+"/02-2-filter-bolts/"+runstore.ReportedConfigFile, func(reported *runstore.ReportedConfig) {
		reported.HeapFlags = "-Xmx96m"
	})
	assert.Contains(t, markdownOfRun(t, dir), "| heap flags in effect | -Xmx384m | -Xmx96m | – |")
}

// Unstated properties of the records are shown as not known. Stated ones are shown even if others are missing.
func TestAReportShowsOfTheRecordsWhatIsStated(t *testing.T) {
	assert.Equal(t, "7 fields", runstore.Records{Fields: 7}.Schema())
	assert.Equal(t, "92 fields (62 strings, 4 longs, 23 maps, 3 lists of maps)",
		runstore.Records{Fields: 92, Strings: 62, Longs: 4, Maps: 23, ListsOfMaps: 3}.Schema())
	dir := asRun(t, runstore.OfConcurrency, runstore.Queries, []column{mirrored(1.0, 1.03, 1.09, 1.08, 1.01, 0.97)})
	path := filepath.Join(dir, runstore.ManifestFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var m runstore.Manifest
	require.NoError(t, json.Unmarshal(text, &m))
	m.Records = runstore.Records{MeanRecordBytes: 700, CompressionRatio: tuning.Unknown}
	text, err = json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o644))
	_, page := written(t, dir)
	assert.Contains(t, page, "| Records | unknown; set records in the experiment file |")
	assert.Contains(t, page, "| Mean record size | 700 bytes |")
}
