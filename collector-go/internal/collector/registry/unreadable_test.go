package registry

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// The registry first retries a part of the journal that the disk cannot read, then skips it and continues with what
// follows.
func TestAJournalThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		failures    int
		steppedOver bool
	}{
		"for a moment": {failures: 3},
		"for good":     {failures: 1 << 40, steppedOver: true},
	} {
		t.Run(name, func(t *testing.T) {
			m, o := disktest.NewMemory(1), journal.DefaultOptions()
			o.FS, o.RingBytes = m, 0
			var r *Registry
			w := &world{t: t, clock: t0, options: DefaultOptions("/registry")}
			w.options.FS = m
			var err error
			w.journal, err = journal.Open("/journal", o)
			require.NoError(t, err)
			r, err = New(w.journal, retention{w.journal, false}, w.options)
			require.NoError(t, err)
			r.backoff = journal.Backoff{First: 100 * time.Microsecond, Last: time.Millisecond,
				SkipAfter: 3 * time.Millisecond}
			w.define()
			w.seconds(250)
			w.info(map[string]string{"a": "1"})
			require.NoError(t, w.journal.Close())
			left := c.failures
			m.SetReadFault(func(name string, off, length int64) error {
				if off/disktest.SectorBytes == 9 && left > 0 {
					left--
					return disktest.ErrInputOutput
				}
				return nil
			})
			require.NoError(t, r.Run(context.Background()))
			assert.Equal(t, c.steppedOver, testutil.ToFloat64(r.figures.unreadable) > 0)
			assert.GreaterOrEqual(t, testutil.ToFloat64(r.figures.readFailures), 1.0)
			require.NotNil(t, r.state.topologies["t"])
			assert.NotNil(t, r.state.topologies["t"].runs[0].info, "what comes behind it")
		})
	}
}
