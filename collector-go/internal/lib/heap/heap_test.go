package heap

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHeadroom(t *testing.T) {
	for live, percent := range map[uint64]int{0: 400, 8 << 20: 400, 64 << 20: 200, 256 << 20: 100, 1 << 30: 50,
		4 << 30: 25, 1 << 40: 25} {
		assert.Equal(t, percent, headroomPercent(live, busyBytes), "%d bytes live", live)
		assert.Equal(t, percent, headroomPercent(live, 100*busyBytes), "%d bytes live", live)
	}
	for live, percent := range map[uint64]int{0: 400, 64 << 20: 50, 256 << 20: 25, 4 << 30: 25} {
		assert.Equal(t, percent, headroomPercent(live, 0), "%d bytes live", live)
	}
	assert.Equal(t, 100, headroomPercent(64<<20, busyBytes/4))
}

// A rise of the allocation rate counts at once, and decays slowly.
func TestAllocationSettles(t *testing.T) {
	at := time.Unix(1, 0)
	a := allocation{perS: 100}
	a.take(1000, at)
	assert.EqualValues(t, 100, a.perS, "nothing is known yet")
	a.take(3000, at.Add(time.Second))
	assert.EqualValues(t, 2000, a.perS)
	a.take(3000, at.Add(time.Second+settlesIn))
	assert.InDelta(t, 2000/math.E, a.perS, 1)
	a.take(3000, at.Add(time.Second+settlesIn))
	assert.InDelta(t, 2000/math.E, a.perS, 1, "no time has passed")
	a.take(3000, at.Add(time.Second+11*settlesIn))
	assert.Less(t, a.perS, 1.0)
}

func TestMemoryLimitOfTheGroup(t *testing.T) {
	for name, test := range map[string]struct {
		group string
		files map[string]string
		want  int64 // 0: no limit
	}{
		"version 2": {"0::/a/b\n", map[string]string{"a/b/memory.max": "1000\n",
			"a/memory.max": "max\n"}, 1000},
		"the one above is tighter": {"0::/a/b\n", map[string]string{"a/b/memory.max": "1000\n",
			"a/memory.max": "900\n"}, 900},
		"a container's own mount": {"0::/system/c1\n", map[string]string{"memory.max": "2000\n"}, 2000},
		"no limit":                {"0::/a\n", map[string]string{"a/memory.max": "max\n"}, 0},
		"version 1": {"5:cpu:/a\n4:memory:/a\n",
			map[string]string{"memory/a/memory.limit_in_bytes": "3000\n"}, 3000},
		"version 1, no limit": {"4:memory:/a\n",
			map[string]string{"memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"nothing to read": {"", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			of := filepath.Join(dir, "cgroup")
			require.NoError(t, os.WriteFile(of, []byte(test.group), 0o600))
			for file, text := range test.files {
				path := filepath.Join(dir, "fs", file)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			}
			bytes, is := memoryLimit(of, filepath.Join(dir, "fs"))
			assert.Equal(t, test.want, bytes)
			assert.Equal(t, test.want != 0, is)
		})
	}
	_, is := memoryLimit(filepath.Join(t.TempDir(), "none"), "/")
	assert.False(t, is)
}

// After a burst, memory is returned when little is allocated, and only at intervals.
func TestWhatABurstTookIsGivenBack(t *testing.T) {
	const kept = 400 << 20
	at := time.Unix(1_000, 0)
	var s spare
	step := func(held uint64, perS float64, after time.Duration) bool {
		at = at.Add(after)
		return s.take(held, perS, at)
	}
	assert.False(t, step(kept, busyBytes, 0))
	assert.False(t, step(3*kept, busyBytes, time.Minute), "it needs it")
	assert.True(t, step(3*kept, idleBytes, time.Second))
	assert.False(t, step(kept, idleBytes, time.Second))
	assert.False(t, step(kept+kept/4, idleBytes, settlesIn-1), "not so soon again")
	assert.True(t, step(kept+kept/4, idleBytes, 1))
	assert.False(t, step(32<<20, idleBytes, 0))
	assert.False(t, step(39<<20, idleBytes, time.Hour), "too little to be worth it")
}
