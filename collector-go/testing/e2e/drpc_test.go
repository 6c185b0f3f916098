//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// drpcServer is Storm 1.2.4's DRPC server with a topology that holds each query for as long as it says
// (topology/drpc-storm).
type drpcServer struct {
	address string

	mu      sync.Mutex
	active  float64
	most    float64
	changed chan struct{} // gets a token, if it has none, when active has changed
	ready   chan struct{}
	ended   chan struct{}
}

// startDRPC starts a server whose HTTP port has that many threads for calls.
func startDRPC(t *testing.T, threads int) *drpcServer {
	t.Helper()
	module, dir := filepath.Join(root(t), "topology", "drpc-storm", "target"), t.TempDir()
	host, err := os.Hostname()
	require.NoError(t, err)
	// Storm 1.2's ZooKeeper reads the name of an address that was not resolved as Java up to 13 printed it.
	hosts := filepath.Join(dir, "hosts")
	require.NoError(t, os.WriteFile(hosts, []byte("127.0.0.1 localhost\n127.0.0.1 localhost/<unresolved>\n127.0.0.1 "+
		host+"\n"), 0o644))
	s := &drpcServer{address: freeAddress(t), changed: make(chan struct{}, 1), ready: make(chan struct{}),
		ended: make(chan struct{})}
	cmd := exec.Command("java", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-Djava.io.tmpdir="+dir,
		"-Dzookeeper.sasl.client=false", "-Djdk.net.hosts.file="+hosts,
		"--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED",
		"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
		fmt.Sprintf("-Dfew.threads=%d", threads),
		fmt.Sprintf("-Dstorm.options=drpc.http.port=%s,drpc.port=%s,drpc.invocations.port=%s,drpc.http.filter=io.github.bulletmetrics.topology.drpcstorm.FewThreads",
			port(t, s.address), port(t, freeAddress(t)), port(t, freeAddress(t))),
		"-cp", filepath.Join(module, "classes")+":"+filepath.Join(module, "lib", "*"),
		"io.github.bulletmetrics.topology.drpcstorm.EchoServer", "bullet-query")
	cmd.Dir, cmd.Stderr = dir, t.Output()
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	go s.read(bufio.NewScanner(stdout))
	t.Cleanup(func() {
		stdin.Close()
		<-s.ended
		assert.NoError(t, cmd.Wait())
	})
	return s
}

func port(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return port
}

func (s *drpcServer) read(lines *bufio.Scanner) {
	defer close(s.ended)
	for lines.Scan() {
		if lines.Text() == "ready" {
			close(s.ready)
		}
		if text, found := strings.CutPrefix(lines.Text(), "active "); found {
			n, _ := strconv.ParseFloat(text, 64)
			s.mu.Lock()
			s.active, s.most = n, max(s.most, n)
			s.mu.Unlock()
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}
}

// counted is how many queries the topology itself counts now, and the most that it ever did.
func (s *drpcServer) counted() (active, most float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active, s.most
}

func (s *drpcServer) await(t *testing.T, event <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-event:
	case <-s.ended:
		require.Fail(t, "the DRPC server has ended", "while the test waited for %s", what)
	case <-time.After(patience):
		require.Fail(t, "waited too long", "for %s", what)
	}
}

// The document's cap (735 queries): a real DRPC server with 20 threads, and 30 queries held.
func TestDRPCsThreadsAreTheLimit(t *testing.T) {
	t.Parallel()
	const threads, held = 20, 30
	server := startDRPC(t, threads)
	server.await(t, server.ready, "the echo topology")
	drpc := load.NewDRPC(server.address, "bullet-query", held)
	defer drpc.Close()

	tally, timeline := load.NewTally(), load.Timeline{}
	query := load.RawQuery{Limit: 10, Duration: 8 * time.Second}
	client := load.NewClosedLoop(query, drpc, load.DefaultClosedOptions(), tally.Add)
	client.Hold(held)
	for active := 0.0; active < threads; active, _ = server.counted() {
		server.await(t, server.changed, fmt.Sprintf("%d active queries; there are %.0f", threads, active))
	}
	// Between the last's becoming active and the first's end nothing changes: calls without a thread wait outside.
	watched, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	timeline.Watch(watched, 250*time.Millisecond, client, tally, nil)
	for _, moment := range timeline.Moments() {
		assert.Equal(t, held, moment.InFlight)
	}
	_, most := server.counted()
	assert.InDelta(t, threads, most, 0)

	evidence := tuning.NoEvidence()
	evidence.Queries.Endpoint, evidence.Queries.Submitted, evidence.Queries.ActiveMost = tuning.EndpointDRPC, held,
		tuning.Figure(most)
	limit := tuning.Limit(evidence)
	assert.Contains(t, limit.Text, "limited by DRPC: 30 queries submitted, 20 active, 10 never active")
	assert.False(t, limit.BlamesTopology())
	t.Log(limit.Text)

	// As the first end, those that waited get their threads: nothing is lost.
	for tally.Result().Returned < held {
		require.Zero(t, tally.Result().Failed, "%v", tally.Result().Errors)
		server.await(t, server.changed, "the answers")
	}
	client.Close()
	result := tally.Result()
	assert.Zero(t, result.Failed+result.TimedOut, "%v", result.Errors)
	assert.Greater(t, result.Latency.Most, 12.0,
		"who waited for a thread waited twice as long, from its intended start")
}
