package diagnosis

import (
	"context"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Six causes of a slow filter, each with its metrics and the resulting sentence.
func TestTheCauseIsNamedWithItsNumbersAndAdvice(t *testing.T) {
	since := noon.Add(-4 * time.Minute)
	latency := level(0.004, 0.310, since.Add(45*time.Second))
	for name, c := range map[string]struct {
		alert        string
		figures      stored
		text, advice string
		figure       string
	}{
		"a slowed filter bolt": {"Slow", stored{
			"bullet_filter_latency_mean_second": latency, "storm_capacity_ratio": level(0.31, 0.98, since),
			"bullet_source_records_total": level(500, 500, noon),
			"bullet_source_lag_records":   level(0, 7000, since),
		}, "FilterBolt has been busy 98% of the time since 2026-11-21T11:56:00Z (31% before)", "bullet.topology.filter.bolt.parallelism",
			"busy"},
		"collections, which make the bolt look busy too": {"Slow", stored{
			"bullet_filter_latency_mean_second": latency, "storm_capacity_ratio": level(0.31, 0.9, since),
			"bullet_worker_gc_seconds_total": level(0.01, 0.42, since),
		}, "Garbage collection pauses have taken 42% of the worst worker's time since 2026-11-21T11:56:00Z (1% before)", "larger heap", "gc"},
		"a slow source": {"Slow", stored{
			"bullet_filter_latency_mean_second": latency, "bullet_source_records_total": level(500, 60, since),
			"bullet_source_lag_records": level(0, 7000, since),
			"storm_capacity_ratio":      level(0.31, 0.04, since),
		}, "The source has been slow since 2026-11-21T11:56:00Z: 60 records/s (500 before), and no component is busy; 7000 records wait to be read",
			"the topology itself has spare capacity", "records"},
		"a worker that is lost, whose neighbours are busy": {"Slow", stored{
			"bullet_filter_latency_mean_second": latency, "storm_capacity_ratio": level(0.31, 0.99, since),
			"present_over_time(bullet_worker_heap_used_bytes": level(4, 3, since),
		}, "A worker is lost: 3 workers report since 2026-11-21T11:56:00Z (4 before)", "log", "workers"},
		"workers with less CPU, which collect garbage more slowly": {"Slow", stored{
			"bullet_filter_latency_mean_second":   latency,
			"sum(rate(bullet_worker_cpu_seconds":  level(0.8, 0.4, since),
			"storm_receive_queue_sojourn_seconds": level(0.002, 0.9, since),
			"bullet_source_records_total":         level(500, 500, noon), "bullet_active_queries": level(100, 85, since),
			"bullet_worker_gc_seconds_total": level(0.01, 0.2, since), "storm_capacity_ratio": level(0.2, 0.24, since),
		}, "The workers have got less CPU since 2026-11-21T11:56:00Z: 0.4 cores (0.8 before), although the load did not fall as much; tuples wait 900 ms for FilterBolt (2 ms before)",
			"CPU limits of the workers' containers", "cpu"},
		"workers with less CPU, because of which queries ended later": {"Slow", stored{
			"bullet_filter_latency_mean_second":   latency,
			"sum(rate(bullet_worker_cpu_seconds":  level(0.8, 0.4, since),
			"storm_receive_queue_sojourn_seconds": level(0.002, 0.9, since),
			"bullet_active_queries":               level(100, 60, since.Add(time.Minute)),
		}, "The workers have got less CPU since 2026-11-21T11:56:00Z: 0.4 cores (0.8 before), although the load did not fall as much; tuples wait 900 ms for FilterBolt (2 ms before)",
			"CPU limits of the workers' containers", "cpu"},
		"a collector that was down": {"BulletMetricsCollectorBlind", stored{
			"bullet_metrics_build_info": func(at time.Time) float64 {
				if at.After(noon.Add(-10*time.Minute)) && at.Before(since) {
					return math.NaN()
				}
				return 1
			},
			"bullet_source_records_total": level(500, 1500, since),
		}, "The collector did not run from 2026-11-21T11:48:00Z to 2026-11-21T11:56:00Z; for this time, only samples that the plugin buffered are known",
			"its log, its host", "workers"},
	} {
		t.Run(name, func(t *testing.T) {
			alert := slow
			alert.Name = c.alert
			p := ports(c.figures, alert)
			p.Limit = func(context.Context, string, time.Time, time.Time, time.Time) (string, bool, error) {
				return "limited by garbage collection", true, nil
			}
			a, err := Explain(t.Context(), p,
				Question{Alert: c.alert, Now: noon.Add(2 * time.Minute)})
			require.NoError(t, err)
			require.NotNil(t, a.Cause)
			assert.Equal(t, c.text, a.Cause.Text)
			assert.Contains(t, a.Cause.Advice, c.advice)
			assert.Equal(t, c.figure, a.Cause.Figure)
			assert.Equal(t, c.figure != "cpu" && !alert.ofCollection(), a.Limit != "",
				"workers that wait for CPU collect garbage for a larger share of the time")
			assert.Contains(t, a.Text(), "Cause: "+strings.NewReplacer("2026-11-21T", "", ":00Z", " UTC").Replace(c.text)+
				". "+a.Cause.Advice)
		})
	}
}

// Workers that use less CPU did not get less if they had less to do, if no tuples waited, or if something else explains
// both.
func TestLessCPUIsNoCauseIfThereWasLessToDo(t *testing.T) {
	since := noon.Add(-4 * time.Minute)
	for name, other := range map[string]stored{
		"fewer records":            {"bullet_source_records_total": level(500, 300, since)},
		"fewer queries":            {"bullet_active_queries": level(100, 50, since)},
		"no tuples wait":           {"storm_receive_queue_sojourn_seconds": level(0.002, 0.002, since)},
		"a bolt that waits itself": {"storm_capacity_ratio": level(0.2, 0.99, since)},
		"garbage collection":       {"bullet_worker_gc_seconds_total": level(0.01, 0.8, since)},
		"as much CPU as before":    {"sum(rate(bullet_worker_cpu_seconds": level(0.8, 0.7, since)},
	} {
		t.Run(name, func(t *testing.T) {
			figures := stored{"sum(rate(bullet_worker_cpu_seconds": level(0.8, 0.4, since),
				"storm_receive_queue_sojourn_seconds": level(0.002, 0.9, since),
				"bullet_source_records_total":         level(500, 500, noon)}
			maps.Copy(figures, other)
			a, err := Explain(t.Context(), ports(figures, slow), Question{Alert: "Slow", Now: noon.Add(2 * time.Minute)})
			require.NoError(t, err)
			if a.Cause != nil {
				assert.NotContains(t, a.Cause.Text, "less CPU")
			}
		})
	}
}

// An outage of the collector is a note if other metrics changed while it ran. It is the cause if nothing else explains
// an alert.
func TestACollectorThatWasDownIsNoCauseOfWhatMovedSince(t *testing.T) {
	away := func(at time.Time) float64 {
		if at.After(noon.Add(-13*time.Minute)) && at.Before(noon.Add(-9*time.Minute)) {
			return math.NaN()
		}
		return 1
	}
	a, err := Explain(t.Context(),
		ports(stored{"bullet_metrics_build_info": away,
			"storm_capacity_ratio": level(0.2, 0.97, noon.Add(-3*time.Minute))}, slow),
		Question{Alert: "Slow", Now: noon})
	require.NoError(t, err)
	assert.Equal(t, "busy", a.Cause.Figure)
	assert.Contains(t, a.Notes[0], "The collector did not run from")
	a, err = Explain(t.Context(), ports(stored{"bullet_metrics_build_info": away}, slow),
		Question{Alert: "Slow", Now: noon})
	require.NoError(t, err)
	assert.Contains(t, a.Cause.Text, "The collector did not run from")
}

// If a metric changed, the answer does not also say that nothing was at its limit.
func TestNothingAtItsLimitIsSaidOnlyWhereNothingMoved(t *testing.T) {
	for name, moves := range map[string]bool{"moved": true, "nothing moved": false} {
		t.Run(name, func(t *testing.T) {
			figures := stored{"storm_capacity_ratio": level(0.3, 0.3, noon)}
			if moves {
				figures = stored{"storm_capacity_ratio": level(0.3, 0.95, noon.Add(-5*time.Minute))}
			}
			p := ports(figures, slow)
			p.Limit = func(context.Context, string, time.Time, time.Time, time.Time) (string, bool, error) {
				return "no resource was at its limit", false, nil
			}
			a, err := Explain(t.Context(), p, Question{Alert: "Slow", Now: noon})
			require.NoError(t, err)
			assert.Equal(t, moves, a.Cause != nil)
			assert.Empty(t, a.Limit)
			assert.Equal(t, !moves, len(a.Notes) == 1)
		})
	}
}

// Without any data, the answer does not list each reason for which no limit is known.
func TestWithoutAnyDataNoLimitIsNamed(t *testing.T) {
	p := ports(stored{}, slow)
	p.Limit = func(context.Context, string, time.Time, time.Time, time.Time) (string, bool, error) {
		return "cannot tell: how busy FilterBolt was is not known", false, nil
	}
	a, err := Explain(t.Context(), p, Question{Alert: "Slow", Now: noon})
	require.NoError(t, err)
	assert.Len(t, a.Missing, len(figures))
	assert.Empty(t, a.Notes)
}

func TestFiguresWithoutASampleAreNamed(t *testing.T) {
	a, err := Explain(t.Context(), ports(stored{"storm_capacity_ratio": level(0.3, 0.3, noon)}, slow),
		Question{Alert: "Slow", Now: noon})
	require.NoError(t, err)
	assert.Contains(t, a.Missing, "filter latency (p99)")
	assert.NotContains(t, a.Missing, "busy share of the busiest task")
	assert.Contains(t, a.Text(), "No data for: records read; ")
}

// If the registry knows why a topology ended or is silent, this explains missing samples, whatever changed before. The
// cause is never a load. For a latency alert that is held for a lost worker, the text is in the past tense, and the
// lost worker is the cause.
func TestSilenceIsExplainedByWhatTheRegistryKnows(t *testing.T) {
	const blind = "BulletMetricsCollectorBlind"
	at := noon.Add(-3 * time.Minute)
	lost := LostWorker{"h:6700", at}
	for name, c := range map[string]struct {
		alert string
		run   Run
		last  time.Time // evidence; zero if unknown
		text  string
		held  bool
	}{
		"killed": {blind, Run{State: "killed", By: "nimbus", Since: at}, time.Time{},
			"bullet was killed at 2026-11-21T11:57:00Z (reported by nimbus)", false},
		"stopped": {blind, Run{State: "stopped", By: "consumer", Since: at}, time.Time{},
			"Storm stopped the metrics consumer of bullet at 2026-11-21T11:57:00Z: the topology was killed or rebalanced, or the worker was stopped", false},
		"silent": {blind, Run{State: "silent", Since: at, Senders: 2}, time.Time{},
			"bullet has not reported since 2026-11-21T11:57:00Z, and did not announce its end; none of its 2 metrics consumers is connected", false},
		"silent, connected": {blind, Run{State: "silent", Since: at, Senders: 2, Connected: 1}, time.Time{},
			"bullet has not reported since 2026-11-21T11:57:00Z, and did not announce its end; 1 of 2 metrics consumers are connected, but send nothing", false},
		"a worker": {blind, Run{State: "running", Workers: 1, Lost: []LostWorker{lost}}, time.Time{},
			"Worker h:6700 is lost: its last report was at 2026-11-21T11:57:00Z, and no other worker reports its tasks; 1 of 2 workers report", false},
		"a held latency": {"BulletFilterLatencyMeanHigh", Run{State: "running", Workers: 1, Lost: []LostWorker{lost}}, at,
			"Worker h:6700 is lost: its last report was at 2026-11-21T11:57:00Z, and no other worker reports its tasks; 1 of 2 workers report", true},
		"a held latency of a worker that was lost after the alert began": {"BulletFilterLatencyMeanHigh",
			Run{State: "running", Workers: 1, Lost: []LostWorker{{"h:6700", noon.Add(10 * time.Second)}}}, at,
			"FilterBolt was busy 97% of the time since 2026-11-21T11:55:00Z (30% before)", true},
		"a held latency of a topology that was killed after the alert began": {"BulletFilterLatencyMeanHigh",
			Run{State: "killed", By: "nimbus", Since: noon.Add(10 * time.Second)}, at,
			"FilterBolt was busy 97% of the time since 2026-11-21T11:55:00Z (30% before)", true},
		"a held latency, and all are there": {"BulletFilterLatencyMeanHigh", Run{State: "running", Workers: 2}, at,
			"FilterBolt was busy 97% of the time since 2026-11-21T11:55:00Z (30% before)", true},
		"a latency of now": {"BulletFilterLatencyMeanHigh", Run{State: "running", Workers: 1, Lost: []LostWorker{lost}},
			noon.Add(time.Minute),
			"FilterBolt has been busy 97% of the time since 2026-11-21T11:55:00Z (30% before)", false},
		"a clock": {"BulletClockSkew", Run{State: "running", Workers: 2, ClockAhead: -10 * time.Minute}, time.Time{},
			"A worker's clock in bullet is 10 min behind the collector's", false},
		"a clock that was set back": {"BulletClockSkew", Run{State: "running", Workers: 2}, time.Time{},
			"A worker's clock in bullet was set back; samples with times that it already reported are refused",
			false},
		"refused samples, and nothing is known": {"BulletMetricsRefusing", Run{State: "running", Workers: 2}, time.Time{},
			"", false},
	} {
		t.Run(name, func(t *testing.T) {
			alert := slow
			if strings.HasSuffix(name, "set back") {
				alert.Labels = map[string]string{"topology": "bullet", "cause": "set_back"}
			}
			alert.Name, alert.Summary = c.alert, "Filter latency of bullet is 418 ms (mean), above the 200 ms limit"
			p := ports(stored{"storm_capacity_ratio": level(0.30, 0.97, noon.Add(-5*time.Minute))}, alert)
			p.Run = func(context.Context, string) *Run { return &c.run }
			p.Evidence = func(context.Context, Alert, time.Time) (time.Time, bool) { return c.last, !c.last.IsZero() }
			p.Limit = func(context.Context, string, time.Time, time.Time, time.Time) (string, bool, error) {
				return "limited by filter CPU", true, nil
			}
			a, err := Explain(t.Context(), p, Question{Alert: c.alert, Now: noon.Add(2 * time.Minute)})
			require.NoError(t, err)
			assert.Equal(t, c.text, strings.TrimSuffix(a.Cause.sentence(), ". "+adviceOf(a.Cause)))
			assert.Equal(t, c.held, a.Alert.Held)
			if c.held {
				assert.Equal(t, "Filter latency of bullet was 418 ms (mean), above the 200 ms limit", a.Alert.Summary)
				assert.Contains(t, a.Text(), "kept for the value measured at 2026-11-21 11:57:00 UTC")
			}
			assert.Equal(t, !alert.ofCollection(), a.Limit != "", "no load limits what is about the collection")
		})
	}
}

func adviceOf(c *Cause) string {
	if c == nil {
		return ""
	}
	return c.Advice
}

// If all workers restarted, there is one cause, even if no slice shows the restarts yet.
func TestRestartsThatTheRegistryNotedAreTheCause(t *testing.T) {
	p := ports(stored{"storm_capacity_ratio": level(0.3, 0.95, noon.Add(-5*time.Minute))}, slow)
	restart := func(ago time.Duration, worker string) Annotation {
		return Annotation{Time: noon.Add(-ago), Title: "Worker " + worker + " restarted", Tags: []string{"restart"}}
	}
	noted := []Annotation{restart(2*time.Minute, "h:1")}
	p.Annotations = func(context.Context, string, time.Time, time.Time) []Annotation { return noted }
	a, err := Explain(t.Context(), p, Question{Alert: "Slow", Now: noon})
	require.NoError(t, err)
	assert.Equal(t, "A worker restarted at 2026-11-21T11:58:00Z (Worker h:1 restarted)", a.Cause.Text)
	noted = append(noted, restart(time.Minute, "h:2"))
	a, err = Explain(t.Context(), p, Question{Alert: "Slow", Now: noon})
	require.NoError(t, err)
	assert.Equal(t, "Workers restarted 2 times, first at 2026-11-21T11:58:00Z (Worker h:1 restarted)",
		a.Cause.Text)
}
