package stack

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
)

// build creates a build directory of empty files, and a program that stands in for the collector process.
func build(t *testing.T, program string) Options {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"local-storm.jar", "storm", "bullet-topology.jar", "bullet-metrics-storm.jar",
		"bullet.yaml"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	o := DefaultOptions(filepath.Join(dir, "out"), dir)
	o.Program, o.BulletConf = filepath.Join(dir, "program"), filepath.Join(dir, "bullet.yaml")
	require.NoError(t, os.WriteFile(o.Program, []byte("#!/bin/sh\n"+program), 0o755))
	for _, address := range []*string{&o.GRPCListen, &o.HTTPListen, &o.GatewayListen} {
		*address = "127.0.0.1:0"
	}
	return o
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	o := build(t, "")
	require.NoError(t, os.Remove(filepath.Join(o.BuildDir, "local-storm.jar")))
	_, err := Enter(context.Background(), o, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "local-storm.jar is missing: run make build")
}

func TestADRPCServerIsStartedWhereItIsAskedFor(t *testing.T) {
	o := build(t, "")
	s, err := Enter(within(t), o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Stop(nil)) }()
	assert.NotContains(t, s.clusterCommand().args, "--drpc")
	assert.NotContains(t, strings.Join(s.AllSettings(), " "), "DRPCPubSub")
	s.options.DRPCThreads = 40
	assert.Subset(t, s.clusterCommand().args, []string{"--drpc", "--drpc-threads", "40"})
	assert.Subset(t, s.AllSettings(), []string{"bullet.pubsub.class.name=com.yahoo.bullet.storm.drpc.DRPCPubSub",
		"bullet.query.window.disable=true"})
}

func TestABusyPortIsNamedWithItsFlag(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	o := build(t, "")
	o.HTTPListen = listener.Addr().String()
	for _, free := range []*string{&o.GRPCListen, &o.GatewayListen} {
		other, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		*free = other.Addr().String()
		require.NoError(t, other.Close())
	}
	err = o.checkPorts()
	require.ErrorContains(t, err, listener.Addr().String())
	require.ErrorContains(t, err, "--http-listen")
}

func TestACollectorThatDiesIsStartedAgain(t *testing.T) {
	s, err := Enter(within(t), build(t, `exec sleep 60`), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	first, err := s.launch(s.collectorCommand())
	require.NoError(t, err)
	s.collector = first
	s.watchers.Go(s.supervise)

	first.kill()
	require.Eventually(t, func() bool { return s.CollectorRestarts() == 1 }, never, time.Millisecond)
	assert.NotEqual(t, first.Pid(), s.Pids()["collector"])
	second := s.Pids()["collector"]
	require.NoError(t, s.Stop(nil))
	assert.Error(t, processGone(second))
	assert.Equal(t, 1, s.CollectorRestarts(), "none is started once the stop has begun")
}

// processGone returns an error if the process has ended.
func processGone(pid int) error { _, err := measure.ProcessStat(pid); return err }

func TestAProcessOfTheClusterThatIsStartedAgainIsKnown(t *testing.T) {
	o := build(t, `echo '{"pids":{"supervisor":1}}'; until [ -e "$0.again" ]; do sleep 0.01; done; echo '{"pids":{"supervisor":2}}'; exec sleep 60`)
	s, err := Enter(within(t), o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { _ = s.Stop(nil) }()
	s.cluster, err = s.launch(command{name: "cluster", path: o.Program, log: filepath.Join(o.Dir, "cluster.log")})
	require.NoError(t, err)
	require.NoError(t, s.awaitCluster(within(t)))
	assert.Equal(t, map[string]int{"supervisor": 1}, s.Pids())
	require.NoError(t, os.WriteFile(o.Program+".again", nil, 0o644))
	require.Eventually(t, func() bool { return s.Pids()["supervisor"] == 2 }, never, time.Millisecond)
}

func TestACollectorThatCannotRunIsGivenUp(t *testing.T) {
	s, err := Enter(within(t), build(t, `echo 'disk full' >&2; exit 1`), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	first, err := s.launch(s.collectorCommand())
	require.NoError(t, err)
	s.collector = first
	s.watchers.Go(s.supervise)
	select {
	case err := <-s.Failed():
		assert.ErrorContains(t, err, "abandoned after 10 restarts")
		assert.ErrorContains(t, err, "disk full")
	case <-time.After(never):
		t.Fatal("no failure was reported")
	}
	require.NoError(t, s.Stop(nil))
}

func TestAddressesOfThePartsAreChecked(t *testing.T) {
	for want, addresses := range map[string][3]string{
		`--http-listen "9320": missing host`:                  {"127.0.0.1:4320", "9320", "127.0.0.1:9901"},
		`--gateway-listen "127.0.0.1:0": port 0 is not valid`: {"127.0.0.1:4320", "127.0.0.1:9320", "127.0.0.1:0"},
		`--gateway-listen "localhost:4320": --grpc-listen "127.0.0.1:4320" has the same port`: {"127.0.0.1:4320",
			"127.0.0.1:9320", "localhost:4320"},
	} {
		o := Options{GRPCListen: addresses[0], HTTPListen: addresses[1], GatewayListen: addresses[2]}
		assert.ErrorContains(t, o.checkPorts(), want)
	}
}
