package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/releasetest"
)

// This program goes on with what a collector of each release left when it was killed: every sample that was stored or
// acknowledged is answered, as that release answers it.
func TestTheDataOfEveryReleaseIsKept(t *testing.T) {
	for _, release := range releasetest.All(t) {
		t.Run(release.Version, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			release.Unpack(t, dir)
			c := settings(dir)
			c.Embedded.RetentionTime = 0
			c.Slice.Lateness = 30 * time.Second
			r := startCollector(t, c)
			releasetest.Close(t, r.col.grpcListener.Addr().String())
			r.close()
			answer, err := program("query", dir, releasetest.Selector, "--time", release.At.Format(time.RFC3339),
				"--output", "json")
			require.NoError(t, err)
			release.RequireKept(t, releasetest.Parse(t, []byte(answer)))
		})
	}
}
