package stack

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABrokerThatIsNotBuiltIsNamed(t *testing.T) {
	o := build(t, "")
	o.Kafka = &Kafka{Partitions: 2}
	require.ErrorContains(t, o.Validate(), "local-kafka.jar is missing: run make build")
	o.Kafka.Bootstrap = "kafka.example:9092"
	require.NoError(t, o.Validate(), "one that is there is not built")
	assert.Contains(t, o.AllSettings(), `bullet.dsl.connector.kafka.bootstrap.servers="kafka.example:9092"`)
}

// The producer starts when the topology polls for queries, and ends with it. Only a producer that ends by itself is a
// failure.
func TestTheProducerLivesWithItsTopology(t *testing.T) {
	var asked atomic.Int32
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/-/ready" || asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer gateway.Close()
	o := build(t, "")
	o.Kafka, o.GatewayListen = &Kafka{Bootstrap: "kafka.example:9092"}, strings.TrimPrefix(gateway.URL, "http://")
	o.Java = filepath.Join(o.BuildDir, "java")
	require.NoError(t, os.WriteFile(o.Java, []byte("#!/bin/sh\necho \"$@\"\nexec sleep 60\n"), 0o755))
	s, err := Enter(within(t), o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)

	assert.NotContains(t, strings.Join(s.producerCommand().args, " "), "compression",
		"manifests say that it compresses nothing")
	require.NoError(t, s.StartSource(within(t)))
	assert.EqualValues(t, 2, asked.Load(), "not before the topology asked")
	first := current(s, &s.producer)
	assert.Equal(t, first.Pid(), s.Pids()["record producer"])
	s.stopSource(nil)
	<-first.Done()
	assert.NotContains(t, s.Pids(), "record producer")
	select {
	case err := <-s.Failed():
		t.Fatalf("its end with the topology is no failure: %v", err)
	default:
	}

	said, err := os.ReadFile(s.logPath("producer"))
	require.NoError(t, err)
	require.NoError(t, s.StartSource(within(t)))
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(s.logPath("producer"))
		return err == nil && len(text) > len(said)
	}, never, time.Millisecond, "it says how it was started")
	current(s, &s.producer).kill()
	select {
	case err := <-s.Failed():
		assert.ErrorContains(t, err, "producer ended")
		assert.ErrorContains(t, err, "--bootstrap-server kafka.example:9092")
	case <-time.After(never):
		t.Fatal("no failure was reported")
	}
	require.NoError(t, s.Stop(nil))
}
