//go:build chaos

package chaos

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostOfAScenario is how long the durations of a scenario are that has one try.
const mostOfAScenario = 0.05

// TestAFewOfEach plays a few tries of each scenario that no other test plays, but for those about time and memory.
func TestAFewOfEach(t *testing.T) {
	repository, err := filepath.Abs("../../..")
	require.NoError(t, err)
	binary := filepath.Join(repository, "build", "bullet-metrics")
	require.FileExists(t, binary, "make test-chaos builds it")
	for _, scenario := range Scenarios() {
		if scenario.Short == 0 {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", scenario.Number, scenario.Fault), func(t *testing.T) {
			ground := Ground{Binary: binary, Dir: filepath.Join(t.TempDir(), "row"), Seed: 1,
				Scale: min(mostOfAScenario, float64(scenario.Short)/float64(scenario.Full)), Repository: repository,
				Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
			result := Play(t.Context(), scenario, ground, scenario.Short)
			require.Equal(t, "OK", result.Verdict, "%+v", result)
		})
	}
}
