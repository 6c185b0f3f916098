package chaos

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What tests and measuring programs print is held to the table.
func TestWhatThePluginCostsIsHeldToItsLimits(t *testing.T) {
	f, measured := heard(
		[]byte("| BLACKHOLE | 0.21% |\ntally: core_ppm=2100 call_p999_ns=97000 control_p999_ns=47000 heap_growth_bytes=-3000 queued=500000 dropped=7 seconds=30\n    x_test.go:1: measured: 300 records/s\n"))
	assert.Equal(t, []string{"300 records/s"}, measured)
	good := held("BLACKHOLE", f)
	assert.True(t, good.Kept(), good.Broken)
	assert.EqualValues(t, 7, good.Expired)
	for name, bad := range map[string]int64{"core_ppm": 10_001, "heap_growth_bytes": 8<<20 + 1, "queued": 500_001,
		"dropped": 0} {
		was := f[name]
		f[name] = bad
		assert.Len(t, held("BLACKHOLE", f).Broken, 1, name)
		f[name] = was
	}
}
