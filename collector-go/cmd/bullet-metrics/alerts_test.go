package main

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What fires where streams stop in part, where a topology is killed, rebalanced or loses a worker, and on a healthy
// day: exactly what is so. Each case begins with two workers of topology b, of which h1's filter is slow; now is what
// fires at its end, and ever what fired until then.
func TestAlertsThatFireAreExactlyTheRightOnes(t *testing.T) {
	const (
		mean, p99    = "FilterLatencyMeanHigh b", "FilterLatencyP99High b"
		blind        = "MetricsCollectorBlind b"
		blind1       = "MetricsCollectorBlind b h1:6700"
		blind2       = "MetricsCollectorBlind b h2:6700"
		blind1Mean   = "MetricsCollectorBlind b h1:6700 bullet_filter_latency_mean_seconds"
		blind1Hist   = "MetricsCollectorBlind b h1:6700 bullet_filter_latency_seconds"
		slow         = 800.0 // ms
		well         = 50.0
		long, longer = 15 * time.Minute, 25 * time.Minute
	)
	stop := func(hosts ...string) func(*alertsWorld) {
		return func(w *alertsWorld) {
			for _, host := range hosts {
				w.workers[host].silent = true
			}
			w.pass(longer)
		}
	}
	for name, c := range map[string]struct {
		healthy bool
		do      func(w *alertsWorld)
		now     []string
		ever    []string // beside now
	}{
		"nothing happens": {do: func(w *alertsWorld) { w.pass(long) }, now: []string{mean, p99}},
		"the slow worker becomes well": {do: func(w *alertsWorld) { w.workers["h1"].mean = well; w.pass(long) },
			ever: []string{mean, p99}},
		"the slow worker's stream stops":    {do: stop("h1"), now: []string{mean, p99, blind1}},
		"the healthy worker's stream stops": {do: stop("h2"), now: []string{mean, p99, blind2}},
		"both streams stop":                 {do: stop("h1", "h2"), now: []string{mean, p99, blind}},
		"only the slow worker's latency stops": {do: func(w *alertsWorld) {
			w.workers["h1"].unheard = true
			w.pass(longer)
		},
			now: []string{mean, p99, blind1Mean, blind1Hist}},
		"only a healthy worker's latency stops": {healthy: true, do: func(w *alertsWorld) {
			w.workers["h1"].unheard = true
			w.pass(longer)
		},
			now: []string{blind1Mean, blind1Hist}},
		"the slow worker's stream is cut": {do: func(w *alertsWorld) {
			w.workers["h1"].silent = true
			w.disconnect("h1")
			w.pass(longer)
		},
			now: []string{mean, p99, blind1}},
		"the slow worker's stream stops, and it comes back well": {do: func(w *alertsWorld) {
			stop("h1")(w)
			w.workers["h1"].silent, w.workers["h1"].mean = false, well
			w.pass(long)
		}, ever: []string{mean, p99, blind1}},
		"a rebalance takes the slow worker's tasks elsewhere": {
			do: func(w *alertsWorld) { w.move("h1", "h3"); w.pass(longer) }, ever: []string{mean, p99}},
		"kill -9 of the slow worker, which is back in half a minute": {do: func(w *alertsWorld) {
			w.disconnect("h1")
			w.workers["h1"].silent = true
			w.pass(30 * time.Second)
			of := w.workers["h1"]
			of.silent, of.mean = false, well
			w.start(of)
			w.pass(long)
		}, ever: []string{mean, p99}},
		"kill -9 of a worker that nobody starts again": {healthy: true,
			do: func(w *alertsWorld) { w.disconnect("h2"); stop("h2")(w) }, now: []string{blind2}},
		"closed in order, by whatever: missed for an hour": {healthy: true, do: func(w *alertsWorld) {
			for host, of := range w.workers {
				w.lastWord(of.producer)
				w.disconnect(host)
			}
			stop("h1", "h2")(w)
			assert.Equal(w.t, []string{blind}, w.firing(), "in the hour")
			w.pass(40 * time.Minute)
		}, ever: []string{blind}},
		"killed, as an annotation reports": {do: func(w *alertsWorld) {
			w.annotate("b", "killed")
			stop("h1", "h2")(w)
		}, ever: []string{mean, p99}},
		"killed, and nobody said so until somebody was woken": {do: func(w *alertsWorld) {
			stop("h1", "h2")(w)
			w.annotate("b", "killed")
			w.pass(long)
		}, ever: []string{mean, p99, blind}},
		"killed and submitted again under its name, elsewhere": {do: func(w *alertsWorld) {
			w.annotate("b", "killed")
			clear(w.workers)
			w.pass(5 * time.Minute)
			w.submit("b", 2, "h3", "h4")
			w.pass(longer)
		}, ever: []string{mean, p99}},
		"killed; a trial of another name runs": {healthy: true, do: func(w *alertsWorld) {
			w.annotate("b", "killed")
			clear(w.workers)
			w.submit("c", 2, "h1", "h2")
			w.pass(longer)
		}},
		"an annotation of a topology that lives on changes nothing": {
			do: func(w *alertsWorld) { w.annotate("b", "killed"); w.pass(longer) }, now: []string{mean, p99}},
		"a healthy day": {healthy: true, do: func(w *alertsWorld) {
			w.evaluated = 5 * time.Minute
			w.pass(24 * time.Hour)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAlertsWorld(t)
			w.submit("b", 1, "h1", "h2")
			w.pass(3 * time.Minute)
			if !c.healthy {
				w.workers["h1"].mean = slow
				w.pass(10 * time.Minute)
				assert.Equal(t, []string{mean, p99}, w.firing(), "before anything happens")
			}
			c.do(w)
			want := slices.Sorted(slices.Values(c.now))
			assert.Equal(t, want, w.firing(), "at the end")
			assert.Equal(t, slices.Sorted(slices.Values(append(slices.Clone(c.now), c.ever...))),
				slices.Sorted(maps.Keys(w.ever)), "ever")
		})
	}
}
