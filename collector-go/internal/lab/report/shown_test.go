package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// storyReport returns the report of Test 4's first run.
func storyReport(t *testing.T) (r *report.RunReport, text, dir string) {
	t.Helper()
	run := filepath.Join(t.TempDir(), "run")
	littleHeap.write(t, run)
	r, err := report.OpenRunReport(run)
	require.NoError(t, err)
	dir = t.TempDir()
	require.NoError(t, r.Write(dir))
	page, err := os.ReadFile(filepath.Join(dir, "report.md"))
	require.NoError(t, err)
	return r, string(page), dir
}

// The first page shows which processes used the host when it was busiest, as a table that adds up to the whole host.
func TestTheFirstPageHasTheHostsProcesses(t *testing.T) {
	_, text, _ := storyReport(t)
	_, first, found := strings.Cut(text, "## Data quality")
	require.True(t, found)
	first, _, _ = strings.Cut(first, "\n## ")
	for _, want := range []string{"### CPU of tune run's host by process, in the busiest step of each trial",
		"| Process | as it is: 300 queries |", "| idle | 30% |\n| workers | 60% |\n| collector | 1.0% |",
		"No worker runs on this host. The hosts of the cluster are not measured."} {
		assert.Contains(t, first, want)
	}
}

// The engine's notes about a step are in the section about data quality.
func TestTheFirstPageHasWhatTheEngineNoted(t *testing.T) {
	s, run := littleHeap, filepath.Join(t.TempDir(), "run")
	s.noted = []string{"workers may still have been compiling"}
	s.write(t, run)
	_, first, _ := strings.Cut(markdownOfRun(t, run), "## Data quality")
	first, _, _ = strings.Cut(first, "\n## ")
	assert.Contains(t, first, "- as it is, 300 queries: workers may still have been compiling.\n")
}

// Each trial's figures are files of their own, as SVG and as PNG.
func TestEachFigureIsAFileOfItsOwn(t *testing.T) {
	_, text, dir := storyReport(t)
	for _, name := range []string{"queries", "cpu", "heap", "gc", "latency"} {
		for _, kind := range []string{".svg", ".png"} {
			assert.FileExists(t, filepath.Join(dir, "figures", "trial-01-"+name+kind))
		}
		assert.Contains(t, text, "figures/trial-01-"+name+".svg")
	}
	svg, err := os.ReadFile(filepath.Join(dir, "figures", "trial-01-cpu.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(svg), "CPU time per worker")
	assert.NotContains(t, string(svg), "Heap used", "alone")
}

func TestAnnotationsAreOnEveryFigure(t *testing.T) {
	r, text, dir := storyReport(t)
	for _, want := range []string{
		"| – | -1:00 | Topology bullet submitted |  | submitted |",
		"| 1 | 8:30 | Changed topology.max.spout.pending | - topology.max.spout.pending: 30; + topology.max.spout.pending: 60 | config, settings |",
		"| 2 | 19:40 to 20:40 | Neighbour's nightly batch |  | cluster |",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "step 1: 0 queries", "steps are bands")
	for name, panels := range map[string]int{"timeline": 5, "latency": 1, "cpu": 1} {
		svg, err := os.ReadFile(filepath.Join(dir, "figures", "trial-01-"+name+".svg"))
		require.NoError(t, err)
		assertXML(t, svg)
		assert.Contains(t, string(svg), "1  Changed topology.max.spout.pending", "the legend of %s", name)
		assert.Equal(t, 2*(panels+1), strings.Count(string(svg), "stroke-dasharray:5,2,1,2"),
			"two marks in each panel of %s, and two keys", name)
	}
	assert.Len(t, r.Trials[0].Report.Annotations, 4, "the data have all")
}

// A restart that the worker's line shows is not drawn twice. A restart that no worker reported is drawn.
func TestARestartIsMarkedOnce(t *testing.T) {
	marks := func(atMs int64) int {
		run := synthetic()
		run.Annotations = []runstore.Annotation{{ID: "r", StartMs: originMs + atMs, Title: "Worker started again",
			Tags: []string{"restart"}}}
		dir := t.TempDir()
		require.NoError(t, build(t, run).WriteFigures(dir))
		svg, err := os.ReadFile(filepath.Join(dir, "latency.svg"))
		require.NoError(t, err)
		return strings.Count(string(svg), "stroke-dasharray:5,2,1,2")
	}
	assert.Zero(t, marks(125_500))
	assert.Equal(t, 2, marks(40_000))
}

func TestAnnotationsThatWereNotKeptAreSaidToBe(t *testing.T) {
	assert.Contains(t, markdown(t, synthetic()), "The annotations of this time were not stored.")
	run := synthetic()
	run.Annotations = []runstore.Annotation{}
	assert.Contains(t, markdown(t, run), "There are no annotations except the steps.")
}

func TestWhoSharesWhatIsShown(t *testing.T) {
	_, text, _ := storyReport(t)
	for _, want := range []string{
		"## Placement: workers and hosts",
		"| Component | Tasks | Workers | Hosts |",
		"| DataSource | 4 | host-0:6700, host-1:6700, host-2:6700, host-3:6700 | host-0, host-1 |",
		"| FilterBolt | 16 | 5 | host-0, host-1 |\n| JoinBolt | 2 | host-0:6700, host-1:6700 | host-0 |\n| __acker | 5 |",
		"| host-0 | 3 | host-0:6700 | 6 | DataSource 1, FilterBolt 3, JoinBolt 1, __acker 1 |",
		"| FilterBolt | 0.2 / 1.1 | 3.5 / 1.6 | 14 / 2.1 | 30 / 2.6 |",
		"DataSource (in at least one step): queue wait unknown: to a spout come acks.",
		"| host-0:6700 | host-1:6700 | 812.0 | 912.0 | 1,012.0 | 1,112.0 |",
		"Messages per second between workers",
	} {
		assert.Contains(t, text, want)
	}
}

// If Storm does not separate messages by receiver, the report says that the figures are totals for each worker.
func TestTrafficPerWorkerIsSaidToBe(t *testing.T) {
	run := synthetic()
	run.Steps[1].Sharing = &runstore.Sharing{Traffic: []runstore.Traffic{{From: "127.0.0.1:6700", MessagesPerSecond: 41}},
		TrafficLeftOut: 3}
	text := markdown(t, run)
	assert.Contains(t, text, "| 127.0.0.1:6700 | all others | – | 41.0 | – | – |")
	assert.Contains(t, text,
		"Messages per second that each worker sent to all others. This version of Storm does not report them by receiver. 3 pairs with fewer messages in report.json.")
}

// A gap between two launches is known. Missing slices are counted only within the launches.
func TestTheGapBetweenLaunchesIsNotMissing(t *testing.T) {
	again := func(first, second int) *report.Report {
		run := synthetic()
		const pause = int64(600_000)
		for i := range run.Steps {
			run.Steps[i].Launch = first
			if i >= 2 {
				s := &run.Steps[i]
				s.Launch, s.StartMs, s.MeasuredFromMs, s.EndMs = second, s.StartMs+pause, s.MeasuredFromMs+pause,
					s.EndMs+pause
			}
		}
		for i := range run.Workers {
			for _, s := range []*runstore.Slices{&run.Workers[i].CPUSeconds, &run.Workers[i].GCSeconds,
				&run.Workers[i].HeapUsedBytes} {
				for n := range s.TimesMs {
					if s.TimesMs[n] >= originMs+120_000 {
						s.TimesMs[n] += pause
					}
				}
			}
		}
		return build(t, run)
	}
	r := again(1, 2)
	assert.Equal(t, 2+2, r.Collection.MissingSlices, "worker 6701's gap, and the slice at which the first launch ended")
	assert.Equal(t, 52, r.Collection.ExpectedSlices)
	assert.Equal(t, 1, r.Collection.Relaunches)
	assert.Equal(t, int64(600_000), r.Collection.BetweenLaunchesMs)
	assert.Contains(t, strings.Join(r.Caveats, "\n"), "a gap of 10m0s between the launches")
	assert.Greater(t, again(1, 1).Collection.MissingSlices, 100, "of one launch they would be missing")
}

// The caveat about percentiles matches what was measured.
func TestTheCaveatOfPercentilesIsTrue(t *testing.T) {
	run := synthetic()
	assert.Contains(t, markdown(t, run), "it has no percentiles")
	assert.NotContains(t, markdown(t, run), "Filter latency, p99 ms")
	run.Steps[0].FilterLatency = &runstore.Percentiles{Records: 100, P50Ms: 1, P95Ms: 3, P99Ms: 4.25,
		Spectrum: []tuning.Figure{0.3, 0.98, 2, 3, 4.25, 12.3, 118.7}}
	text := markdown(t, run)
	assert.NotContains(t, text, "no percentile")
	assert.Contains(t, text, "the histogram of the latency hook (bullet_filter_latency_seconds)")
	assert.Contains(t, text, "Filter latency, p99 ms")
	assert.NotContains(t, text, "4.25", "a record's latency is in whole milliseconds")
	assert.Contains(t, text, "| 0 | 1 | 2 | 3 | 4 | 12 | 120 |")
}

// Only the time beyond a query's own duration is shown. A query that ends earlier has its whole time to result.
func TestTheTimeBeyondAQuerysOwnDuration(t *testing.T) {
	run := synthetic()
	text := markdown(t, run)
	assert.Contains(t, text, "| Result after the query duration of 10s, mean s late | p50 s late | p99 s late |")
	assert.Contains(t, text, "| 0.20 | 0.10 | 0.90 |")
	assert.NotContains(t, text, "10,900")
	for i := range run.Steps {
		run.Steps[i].Clients.LatencyP99Ms = 900
	}
	assert.Contains(t, markdown(t, run), "| Time to result, mean ms | p50 ms | p99 ms |")
}

func TestTheSpectrumOfAStep(t *testing.T) {
	run := synthetic()
	assert.NotContains(t, markdown(t, run), "Filter latency percentiles")
	run.Steps[1].FilterLatency = &runstore.Percentiles{Records: 100, P50Ms: 1, P95Ms: 4, P99Ms: 5,
		Spectrum: []report.Figure{1, 2, 3, 4, 5, 6, 7.5}}
	text := markdown(t, run)
	assert.Contains(t, text, "| Records | p50 ms | p75 ms | p90 ms | p95 ms | p99 ms | p99.5 ms | p99.9 ms |")
	assert.Contains(t, text, "| 10 | 100 | 1 | 2 | 3 | 4 | 5 | 6 | 8 |")
	assert.Contains(t, text, "figures/trial-01-spectrum.svg")

	// A load that was measured for the cost is in the table. It has no line in the figure, because it repeats a load of
	// another step.
	run.Steps[1].Kind = runstore.CostStep
	text = markdown(t, run)
	assert.Contains(t, text, "| 100 | 1 | 2 | 3 | 4 | 5 | 6 | 8 |")
	assert.NotContains(t, text, "figures/trial-01-spectrum.svg")
}

func TestASpreadOfWhatIsKnown(t *testing.T) {
	u := tuning.Unknown
	assert.Equal(t, "–", report.SpreadOf([]report.Figure{u, u}).String())
	assert.Equal(t, "7 (n 1)", report.SpreadOf([]report.Figure{u, 7}).String())
	assert.Equal(t, "8 (7 to 9, n 2)", report.SpreadOf([]report.Figure{9, u, 7}).String())
	assert.False(t, report.SpreadOf([]report.Figure{7}).Deviation.Known(), "of one there is none")
}
