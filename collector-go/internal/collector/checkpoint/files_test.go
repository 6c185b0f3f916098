package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

var errTorn = errors.New("the state ends too early")

func noDamage(t *testing.T) func(string, error) {
	return func(path string, err error) { t.Errorf("%s is damaged: %v", path, err) }
}

func saved(t *testing.T, dir string, positions ...journal.Position) *Files {
	c, err := Open(dir, nil)
	require.NoError(t, err)
	for _, p := range positions {
		require.NoError(t, c.Save(p, []byte{byte(p)}))
	}
	return c
}

func TestTheNewestCheckpointAtOrBeforeTheCursorIsUsed(t *testing.T) {
	dir := t.TempDir()
	saved(t, dir, 10, 20, 30)
	c := saved(t, dir) // as after a restart
	for limit, want := range map[journal.Position]journal.Position{10: 10, 19: 10, 20: 20, 99: 30} {
		var restored []byte
		p, err := c.Newest(limit, func(state []byte) error { restored = state; return nil }, noDamage(t))
		require.NoError(t, err)
		assert.Equal(t, want, p)
		assert.Equal(t, []byte{byte(want)}, restored)
	}
	_, err := c.Newest(9, accept, noDamage(t))
	assert.ErrorIs(t, err, ErrNone)
}

func accept([]byte) error { return nil }

func TestACheckpointThatCannotBeRestoredIsPassedOver(t *testing.T) {
	c := saved(t, t.TempDir(), 10, 20)
	refused := 0
	p, err := c.Newest(20, func(state []byte) error {
		if state[0] == 20 {
			return errTorn
		}
		return nil
	}, func(string, error) { refused++ })
	require.NoError(t, err)
	assert.Equal(t, journal.Position(10), p)
	assert.Equal(t, 1, refused)
}

func TestADamagedCheckpointIsPassedOver(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(path, 3) },
		"flipped": func(path string) error { return os.WriteFile(path, []byte("BMCK\x00\x00\x00\x00?"), 0o644) },
		"empty":   func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			c := saved(t, t.TempDir(), 10, 20)
			require.NoError(t, damage(c.path(20)))
			var named []string
			p, err := c.Newest(20, accept, func(path string, _ error) { named = append(named, path) })
			require.NoError(t, err)
			assert.Equal(t, journal.Position(10), p)
			assert.Equal(t, []string{c.path(20)}, named)
		})
	}
}

func TestACrashInTheMiddleOfSavingLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	saved(t, dir, 10)
	half := filepath.Join(dir, "checkpoint-00000000000000000020.new")
	require.NoError(t, os.WriteFile(half, []byte("half"), 0o644))
	c := saved(t, dir)
	assert.Equal(t, []journal.Position{10}, c.positions)
	assert.NoFileExists(t, half)
}

func TestPruningKeepsWhatARestartMayRead(t *testing.T) {
	c := saved(t, t.TempDir(), 10, 20, 30)
	assert.Equal(t, journal.Position(20), c.Prune(25))
	assert.Equal(t, []journal.Position{20, 30}, c.positions)
	assert.NoFileExists(t, c.path(10))
	assert.Equal(t, journal.Position(0), saved(t, t.TempDir(), 10).Prune(5),
		"nothing to start from yet: the journal must keep all")
}

func TestCheckpointsAreBounded(t *testing.T) {
	c := saved(t, t.TempDir())
	for p := journal.Position(1); p <= 10*maxCheckpoints; p++ {
		require.NoError(t, c.Save(p, nil))
		require.Equal(t, journal.Position(1), c.Prune(1), "the one that the cursor needs stays")
		require.LessOrEqual(t, len(c.positions), maxCheckpoints)
		require.Equal(t, p, c.positions[len(c.positions)-1], "the newest stays")
	}
}

func TestCheckpointsAfterTheJournalsEndAreDiscarded(t *testing.T) {
	c := saved(t, t.TempDir(), 10, 20, 30)
	c.Discard(20)
	assert.Equal(t, []journal.Position{10, 20}, c.positions)
}

func TestAllButTheNewestGo(t *testing.T) {
	c := saved(t, t.TempDir(), 10, 20, 30)
	assert.Equal(t, journal.Position(20), c.Keep(2))
	assert.NoFileExists(t, c.path(10))
	assert.Equal(t, journal.Position(20), c.Keep(5))
	assert.Equal(t, journal.Position(0), saved(t, t.TempDir()).Keep(2),
		"nothing to start from yet: the journal must keep all")
}

func TestTheCheckpointOfANewerVersionEndsTheSearch(t *testing.T) {
	c := saved(t, t.TempDir(), 10, 20)
	_, err := c.Newest(20, func(state []byte) error {
		if state[0] == 20 {
			return disk.ErrNewer
		}
		return nil
	}, noDamage(t))
	assert.ErrorIs(t, err, disk.ErrNewer)
	assert.ErrorContains(t, err, c.path(20))
}
