//go:build stores

package servertest

import (
	"testing"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

const allTime = 200 * 24 * time.Hour // a window that no test leaves, so that tests can share a server

func TestPrometheus(t *testing.T) {
	s := Prometheus(t, allTime)
	storetest.Run(t, func(t *testing.T) storetest.Harness { return onPrometheus(t, s, 0) })
}

// A receiver takes what is within its own window, and refuses the rest by name.
func TestPrometheusWindow(t *testing.T) {
	cases.Full(t, "a Prometheus that answers with 400, and not 500 as Debian's, to a sample that is too old")
	const window = 2 * time.Hour
	storetest.RunTooLate(t, onPrometheus(t, Prometheus(t, window), window))
}

func TestVictoriaMetrics(t *testing.T) {
	s := victoria(t)
	storetest.Run(t, func(t *testing.T) storetest.Harness { return onVictoria(t, s) })
}

func TestInfluxDB1(t *testing.T) {
	s := influxdb(t, fromDebian(t, "influxdb", "influxd"))
	storetest.Run(t, func(t *testing.T) storetest.Harness { return onInfluxDB(t, s, 1) })
}

// InfluxDB 1.13 takes the API of version 2. Where it could not be built, VictoriaMetrics takes the same requests.
func TestInfluxDB2(t *testing.T) {
	if program := built(t, "influxd"); program != "" {
		s := influxdb(t, program)
		storetest.Run(t, func(t *testing.T) storetest.Harness { return onInfluxDB(t, s, 2) })
		return
	}
	t.Log("there is no Rust toolchain, so InfluxDB 1.13 is not built: VictoriaMetrics stands in for /api/v2/write")
	s := victoria(t)
	storetest.Run(t, func(t *testing.T) storetest.Harness { return onVictoriaByLines(t, s) })
}
