package chaos

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run goes on where the one before it was ended; results of another version, seed or scale do not count for this one.
func TestARecordKeepsWhatWasPlayed(t *testing.T) {
	dir := t.TempDir()
	scenario := Scenario{Number: 5, Fault: "disk full", Full: 100}
	first, err := ReadRecord(dir, 1, 0.1)
	require.NoError(t, err)
	beside, err := ReadRecord(dir, 1, 0.1)
	require.NoError(t, err)
	require.False(t, first.Whole(scenario, "v1"))
	played := Result{Number: 5, Fault: scenario.Fault, Outcome: Outcome{Tries: 10, Acknowledged: 7}, Verdict: "OK",
		Version: "v1"}
	require.NoError(t, first.Keep(played))
	require.NoError(t, beside.Keep(Result{Number: 3, Outcome: Outcome{Tries: 1}, Version: "v1"}))

	again, err := ReadRecord(dir, 1, 0.1)
	require.NoError(t, err)
	require.Len(t, again.Faults, 2, "of both processes")
	require.Equal(t, played, again.Faults[1])
	require.True(t, again.Whole(scenario, "v1"))
	require.False(t, again.Whole(scenario, "v2"), "another version")
	require.False(t, again.Whole(Scenario{Number: 5, Full: 1000}, "v1"), "fewer tries than the row has now")
	other, err := ReadRecord(dir, 2, 0.1)
	require.NoError(t, err)
	require.Empty(t, other.Faults, "another seed")

	played.Lost, played.Version = 1, "v2"
	require.NoError(t, again.Keep(played))
	require.False(t, again.Whole(scenario, "v2"), "it is not kept")
	require.Len(t, again.Faults, 2, "the newest of a row")
	played.Lost, played.Version = 0, "v2-dirty"
	require.NoError(t, again.Keep(played))
	require.False(t, again.Whole(scenario, "v2-dirty"), "two programs may be called so")

	require.NoError(t, other.Keep(played))
	require.FileExists(t, filepath.Join(dir, "chaos-seed1-scale0.1.json"), "another seed's record leaves it alone")
	newest, err := os.ReadFile(filepath.Join(dir, "chaos.json"))
	require.NoError(t, err)
	require.Contains(t, string(newest), `"seed": 2`)
}
