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

// mostOfARow is how long the durations of a scenario are that has one try.
const mostOfARow = 0.05

// TestAFewOfEach plays a few tries of each row that no other test plays, but for those about time and memory.
func TestAFewOfEach(t *testing.T) {
	repository, err := filepath.Abs("../../..")
	require.NoError(t, err)
	binary := filepath.Join(repository, "build", "bullet-metrics")
	require.FileExists(t, binary, "make test-chaos builds it")
	for _, row := range Scenarios() {
		if row.Short == 0 {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", row.Number, row.Fault), func(t *testing.T) {
			ground := Ground{Binary: binary, Dir: filepath.Join(t.TempDir(), "row"), Seed: 1,
				Scale: min(mostOfARow, float64(row.Short)/float64(row.Full)), Repository: repository,
				Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
			result := Play(t.Context(), row, ground, row.Short)
			require.Equal(t, "OK", result.Verdict, "%+v", result)
		})
	}
}
