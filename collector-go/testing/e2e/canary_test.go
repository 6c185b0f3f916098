//go:build e2e

package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// canaryLife is how long each of the canary's queries lives: much longer than it takes to reach the filter bolts, which
// a busy machine needs half a second for and which costs it records. There is one of each class in canaryEvery, few for
// such a machine too.
const (
	canaryLife  = 8 * time.Second
	canaryEvery = 2 * time.Second
)

// leastComplete is 1 but for what a starved machine's filters get too late, or bring too late: see "A RAW query and its
// LIMIT" in topology/README.md.
const leastComplete = 0.8

// fewestQueries of each class are enough for what is said of them.
const fewestQueries = 5.0

// awaitQueries waits until so many queries of each class are stored, which takes as long as the machine is slow, and
// returns the slice end by which they are.
func (b *bench) awaitQueries(t *testing.T, end time.Time, fewest float64) time.Time {
	t.Helper()
	for began := time.Now(); ; end = end.Add(sliceWidth) {
		b.awaitSlices(t, "bullet_query_latency_seconds", "", end)
		b.awaitSlices(t, "bullet_query_outcomes_total", "", end)
		least := b.ask(t, end, "min(histogram_count(sum by (class) (%s)))",
			selector("bullet_query_latency_seconds", `,component="canary"`))[""]
		if least >= fewest || time.Since(began) > patience {
			return end
		}
	}
}

// The canary's program beside the topology: every class is answered, completely, and PromQL has its latencies while the
// canary goes on.
func canaryFlies(t *testing.T, b *bench) {
	b.watchPage(t, "canary") // logs how long samples take to the screen, while nothing is wrong
	var said bytes.Buffer
	cmd := exec.Command(filepath.Join(buildDir(t), "bullet-metrics"), "canary", "--url", b.options.GatewayListen,
		"--grpc", b.options.GRPCListen,
		"--topology", topology, "--host", "canary-host", "--every", canaryEvery.String(), "--query-duration",
		canaryLife.String(), "--most-in-flight", "40")
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		assert.NoError(t, cmd.Wait(), "it ends well with Ctrl-C")
		t.Logf("the canary printed:\n%s", said.String())
	}()
	end := b.awaitQueries(t, nextSliceEnd(nextSliceEnd(time.Now().Add(canaryLife))), fewestQueries)
	for _, class := range load.Classes() {
		of := `,component="canary",worker="canary-host:0",class="` + string(class) + `"`
		latencies := selector("bullet_query_latency_seconds", of)
		count := b.ask(t, end, "histogram_count(sum(%s))", latencies)[""]
		p50, p99 := b.ask(t, end, "histogram_quantile(0.5, sum(%s))", latencies)[""],
			b.ask(t, end, "histogram_quantile(0.99, sum(%s))", latencies)[""]
		complete := b.ask(t, end, "avg(avg_over_time(%s[1m]))",
			selector("bullet_query_result_completeness_ratio", of))[""]
		bad := b.ask(t, end, "sum(%s)", selector("bullet_query_outcomes_total", of+`,outcome!="returned"`))[""]
		t.Logf("%s: %.0f queries, p50 %.3f s, p99 %.3f s, completeness %.3f", class, count, p50, p99, complete)
		assert.GreaterOrEqual(t, count, fewestQueries, class)
		assert.GreaterOrEqual(t, p99, p50)
		if class != load.Raw { // which ends when it has its records
			assert.GreaterOrEqual(t, p50, canaryLife.Seconds()*0.97)
		}
		assert.GreaterOrEqual(t, complete, leastComplete, class)
		assert.Zero(t, bad, class)
	}
	answer := b.ask(t, end, "count(bullet_worker_info{topology=%q,worker=\"canary-host:0\"}) or vector(0)", topology)
	assert.Zero(t, answer[""], "it is no worker")
}
