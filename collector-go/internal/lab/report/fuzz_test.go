package report

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any file of outcomes is either read, in the order of the queries' ends, or refused with the line of the error.
func FuzzOutcomes(f *testing.F) {
	f.Add([]byte(`{"end":"returned","intended_ms":1,"finished_ms":5}` + "\n" + `{"finished_ms":2}` + "\n"))
	f.Add([]byte(`{"finished_ms":1e400}`))
	f.Add([]byte(strings.Repeat(`{"a":`, 20_000)))
	path := filepath.Join(f.TempDir(), "outcomes.jsonl")
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(path, text, 0o644))
		all, err := readOutcomes(path)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(all), strings.Count(string(text), "\n")+1)
		require.True(t, sort.SliceIsSorted(all, func(i, j int) bool { return all[i].FinishedMs < all[j].FinishedMs }))
	})
}
