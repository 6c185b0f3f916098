//go:build stores

package main

import (
	"testing"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/servertest"
)

// Two collectors share what they know through a real Thanos, of which each writes to another receiver.
func TestCollectorsOverOneThanosShareWhatTheyKnow(t *testing.T) {
	ring := servertest.Thanos(t, 2*time.Hour)
	one, other := overEngine(t, ring.Writes[0], ring.Querier.URL()), overEngine(t, ring.Writes[1], ring.Querier.URL())
	collectorsShare(t, one, other)
}
