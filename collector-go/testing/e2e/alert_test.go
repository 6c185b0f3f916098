//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/alertmanagertest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/rulestest"
)

// The alerts that come with the program, in a quarter of their time: their shortest window holds three slices then.
const (
	ruleScale    = 0.25
	ruleInterval = 2 * time.Second
	// lookback is how long a value stands for a worker that returns false more: 5 minutes by default, within which
	// missing samples change nothing.
	lookback = "60s"
	// How long a topology is missed of which only its stopping is known: an hour, and here two minutes, within which it
	// is missed first.
	stoppedLasts, stoppedLastsHere = "> 3600)", "> 120)"
)

// inFullTime states that make bench-alerts runs: slices, rules and all that goes with them are as they come, and
// everything takes its time.
func inFullTime() bool { return os.Getenv("BULLET_METRICS_BENCH_ALERTS") != "" }

// ruleOffset is how far the rules look back here, as in any collector: tick, slice and lateness.
func ruleOffset(o stack.Options) time.Duration { return time.Second + o.SliceWidth + o.SliceLateness }

// withAlerts has the collector tell an Alertmanager, by default of the alerts in a quarter of their time in the place
// of its own.
func withAlerts(t *testing.T, o *stack.Options, manager *alertmanagertest.Alertmanager) {
	t.Helper()
	o.CollectorFlags = []string{"--alertmanager-urls", manager.URL}
	if inFullTime() {
		o.SliceLateness = 30 * time.Second
		return
	}
	path := filepath.Join(t.TempDir(), "quarter.rules.yaml")
	rules := rulestest.Scaled(ruleInterval, ruleOffset(*o), ruleScale)
	require.Equal(t, 1, bytes.Count(rules, []byte(stoppedLasts)))
	rules = bytes.Replace(rules, []byte(stoppedLasts), []byte(stoppedLastsHere), 1)
	require.NoError(t, os.WriteFile(path, rules, 0o666))
	o.CollectorFlags = append(o.CollectorFlags, "--rules-builtin=false", "--rules-files", path, "--rules-interval",
		ruleInterval.String(), "--query-lookback", lookback,
		"--nimbus-interval", "7s") // 30 s as it comes
}

const (
	meanAlert, p99Alert  = "BulletFilterLatencyMeanHigh", "BulletFilterLatencyP99High"
	blindAlert, watchdog = "BulletMetricsCollectorBlind", "BulletMetricsWatchdog"
	latencyLimit         = 0.2 // seconds
)

var latencyAlerts = []string{meanAlert, p99Alert}

// A bolt that has nothing to do looks for tuples once a second: a record waits for half of that in the mean, whatever
// the machine.
var sleepyBolts = []string{
	"bullet.topology.custom.topology.bolt.wait.strategy=org.apache.storm.policy.WaitStrategyPark",
	"bullet.topology.custom.topology.bolt.wait.park.microsec=1000000",
}

// The run until now has woken nobody for its latency, unless this machine has been too slow for it; the same topology
// with filter bolts that sleep does on any machine. Where the alert stands already, it stands on.
func slowFilterWakesSomebody(t *testing.T, b *bench) {
	b.assertNotifiedOnlyWhatWasMeasured(t)
	page, opened := b.watchPage(t, "filter-slowed"), time.Now()
	for name, notified := range b.slowFilters(t) {
		// The first report of slow records came within this slice, and they within the report's interval before it.
		end, _ := b.firstSlowSlice(t, b.slowedAt)
		if notified.StartsAt.Before(b.slowedAt) {
			t.Logf("%s stands since %s, before the bolts slept: this machine is slow", name,
				notified.StartsAt.Format(time.TimeOnly))
		} else {
			t.Logf("%s notified %.0f to %.0f s after the first slow record: %s", name, notified.Heard.Sub(end).Seconds(),
				notified.Heard.Sub(end.Add(-sliceWidth-reported)).Seconds(), notified.Annotations["summary"])
		}
		assert.Equal(t, topology, notified.Labels["topology"])
		assert.Contains(t, notified.Annotations["runbook_url"], name)
	}
	b.awaitReason(t, b.slowedAt)
	page.awaitLine(t, `[Ll]atency`, opened)
}

// slowFilters has the topology run with bolts that sleep, and returns the notifications about its latency by then. What
// other tests need it for they need whether or not the one that is about it passed.
func (b *bench) slowFilters(t *testing.T) map[string]alertmanagertest.Alert {
	t.Helper()
	if b.slowedAt.IsZero() {
		killed := time.Now()
		require.NoError(t, b.Kill(t.Context(), topology))
		require.NoError(t, b.SubmitAs(t.Context(), topology, sleepyBolts))
		b.slowedAt = killed
	}
	all := map[string]alertmanagertest.Alert{}
	for name, expression := range latencyExpressions {
		// The slice that holds the kill, and the one after it, may have what the topology said last before it.
		all[name] = b.awaitLatencyAlert(t, name, expression, nextSliceEnd(b.slowedAt).Add(sliceWidth))
	}
	return all
}

// awaitLatencyAlert waits until the rules look at a slow slice after a time, find the latency above the limit, and the
// alert fires; it is the last notification about it.
func (b *bench) awaitLatencyAlert(t *testing.T, name, expression string,
	since time.Time) (notified alertmanagertest.Alert) {
	t.Helper()
	b.await(t, name+" of slow records", func(ctx context.Context) bool {
		seen := time.Now().Add(-ruleOffset(b.options) - 2*ruleInterval)
		first, is := b.firstSlowSlice(t, since)
		latency, err := b.collector.Calculate(ctx, expression, seen)
		if !is || first.After(seen) || err != nil || float64(latency) <= latencyLimit || !b.firing(t, name) {
			return false
		}
		all := b.notificationsOf(name, topology, "", "firing", b.started)
		if len(all) > 0 {
			notified = all[len(all)-1]
		}
		return len(all) > 0
	})
	return notified
}

// firstSlowSlice is the end of the first slice after a time in which Bullet's mean is above the limit, where there is
// one.
func (b *bench) firstSlowSlice(t *testing.T, since time.Time) (end time.Time, is bool) {
	t.Helper()
	now := time.Now()
	if !since.Before(now) {
		return time.Time{}, false
	}
	series, err := b.slices(t.Context(), "bullet_filter_latency_mean_seconds", "", since.Add(time.Millisecond), now)
	require.NoError(t, err)
	first := int64(math.MaxInt64)
	for _, s := range series {
		for i, end := range s.Slices.TimesMs {
			if float64(s.Slices.Values[i]) > latencyLimit {
				first = min(first, end)
			}
		}
	}
	return time.UnixMilli(first), first != math.MaxInt64
}

// What the two alerts go by.
const (
	meanExpression = `max(topology:bullet_filter_latency_mean_seconds:max{topology="` + topology + `"})`
	p99Expression  = `max(topology:bullet_filter_latency_seconds:p99_rate3m{topology="` + topology + `"})`
)

var latencyExpressions = map[string]string{meanAlert: meanExpression, p99Alert: p99Expression}

// assertNotifiedOnlyWhatWasMeasured finds the watchdog notified once, from the first evaluation on and through the
// collector's restart, and no latency alert unless records were late by what the rules recorded.
func (b *bench) assertNotifiedOnlyWhatWasMeasured(t *testing.T) {
	t.Helper()
	notified := b.manager.Notifications()
	of := func(name string) (all []alertmanagertest.Alert) {
		for _, a := range notified {
			if a.Name() == name {
				all = append(all, a)
			}
		}
		return all
	}
	if dog := of(watchdog); assert.Len(t, dog, 1, "one notification, and none that it ended") {
		assert.Equal(t, "firing", dog[0].Status)
		assert.True(t, dog[0].StartsAt.Before(b.started.Add(patience)))
	}
	for name, expression := range latencyExpressions {
		worst, err := b.collector.Calculate(t.Context(), "max_over_time(("+expression+")[1h:2s])", time.Now())
		require.NoError(t, err)
		if len(of(name)) > 0 && assert.Greater(t, float64(worst), latencyLimit, "%s was notified for %v", name, of(name)) {
			t.Logf("%s was notified in the run before, rightly: up to %.3f s on this machine", name, worst)
			continue
		}
		assert.Empty(t, of(name))
		t.Logf("%s was not reported in the run before; at most %.3f s", name, worst)
	}
	var others []string
	for _, a := range notified {
		if !slices.Contains(append(latencyAlerts, watchdog), a.Name()) {
			others = append(others, a.Status+" "+a.Annotations["summary"])
		}
	}
	t.Logf("others notified in the run before: %q", others)
}

// firing reports whether Alertmanager holds one of these alerts for firing.
func (b *bench) firing(t *testing.T, names ...string) bool {
	t.Helper()
	return slices.ContainsFunc(b.manager.Active(t), func(a alertmanagertest.Alert) bool {
		return slices.Contains(names, a.Name())
	})
}

// awaitAlert is the first notification of an alert of the topology that began after a time.
func (b *bench) awaitAlert(t *testing.T, name string, since time.Time) alertmanagertest.Alert {
	t.Helper()
	return b.awaitAlertOf(t, name, topology, "", since)
}

// awaitAlertOf is the same for a topology and a worker; "" is one without.
func (b *bench) awaitAlertOf(t *testing.T, name, topology, worker string,
	since time.Time) (found alertmanagertest.Alert) {
	t.Helper()
	b.await(t, name+" of "+topology+" "+worker, func(context.Context) bool {
		notified := b.notificationsOf(name, topology, worker, "firing", since)
		if len(notified) > 0 {
			found = notified[0]
		}
		return len(notified) > 0
	})
	return found
}

// notificationsOf are those of an alert that began after a time, in a status.
func (b *bench) notificationsOf(name, topology, worker, status string, since time.Time) (all []alertmanagertest.Alert) {
	for _, a := range b.manager.Notifications() {
		if a.Name() == name && a.Status == status && a.Labels["topology"] == topology && a.Labels["worker"] == worker &&
			a.Labels["metric"] == "" && a.StartsAt.After(since) {
			all = append(all, a)
		}
	}
	return all
}

// awaitReason asks as somebody who was woken does, until the answer names the setting that was changed and the latency
// that moved.
func (b *bench) awaitReason(t *testing.T, changed time.Time) {
	t.Helper()
	var answer []byte
	defer func() { t.Logf("why:\n%s", answer) }()
	b.await(t, "the reason of "+meanAlert, func(ctx context.Context) bool {
		now := time.Now()
		window := now.Sub(changed).Round(time.Second) + 10*time.Second
		var err error
		answer, err = exec.CommandContext(ctx, b.options.Program, "why", "--collector", "http://"+b.options.HTTPListen,
			"--alert", meanAlert,
			"--topology", topology, "--time", now.Format(time.RFC3339), "--window", window.String()).CombinedOutput()
		text := string(answer)
		return err == nil && strings.Contains(text, "Changed topology.bolt.wait.strategy") &&
			strings.Contains(text, "+ topology.bolt.wait.strategy: org.apache.storm.policy.WaitStrategyPark") &&
			strings.Contains(text, "filter latency (mean of the slowest task)")
	})
	assert.Contains(t, string(answer), meanAlert+" firing since ")
}

// assertLatencyStands finds the latency alerts firing when there is no latency any more to go by, and nobody notified
// of their end.
func (b *bench) assertLatencyStands(t *testing.T, since time.Time) {
	t.Helper()
	b.await(t, "the latency to be unknown to the rules", func(ctx context.Context) bool {
		latency, err := b.collector.Calculate(ctx, meanExpression, time.Now().Add(-ruleOffset(b.options)))
		return err == nil && math.IsNaN(float64(latency))
	})
	kept := b.active(t)
	for _, name := range latencyAlerts {
		assert.True(t, b.firing(t, name), name)
		since, is := kept[name]
		assert.True(t, is, "%s is not among the collector's alerts", name)
		assert.Empty(t, since, "%s does not stand by itself, but is about to end", name)
	}
	for _, a := range b.manager.Notifications() {
		resolved := slices.Contains(latencyAlerts, a.Name()) && a.Status == "resolved" && a.Heard.After(since)
		assert.False(t, resolved, "%s was notified as ended at %s", a.Name(), a.EndsAt)
	}
}

// active are the collector's firing alerts, each with since when it fires on only for its keep_firing_for; "" where its
// condition holds.
func (b *bench) active(t *testing.T) map[string]string {
	t.Helper()
	response, err := http.Get("http://" + b.options.HTTPListen + "/api/v1/alerts")
	require.NoError(t, err)
	defer response.Body.Close()
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels          map[string]string
				State           string
				KeepFiringSince string
			}
		}
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	all := map[string]string{}
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" && a.Labels["topology"] == topology {
			all[a.Labels["alertname"]] = a.KeepFiringSince
		}
	}
	return all
}
