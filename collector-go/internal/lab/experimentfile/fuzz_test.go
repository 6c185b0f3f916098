package experimentfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a file contains, and however deep it nests, its faults name the file. A file that is accepted can be
// planned.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../../../topology/experiments/*.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(text)
	}
	for _, deep := range []string{"[", "{a: ", "- ", "? ", "&a [*a, ", "!!map {"} {
		f.Add([]byte("experiment: " + strings.Repeat(deep, 5000)))
		f.Add([]byte(strings.Repeat(deep, 5000)))
	}
	f.Add([]byte("experiment: a\nsteps: {from: 1, to: 1e18, by: 1e-18}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("f.yaml", text)
		if err != nil {
			require.ErrorContains(t, err, "f.yaml")
			return
		}
		require.NotEmpty(t, file.Path())
	})
}
