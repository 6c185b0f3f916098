package yamlfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatNestsTooDeepIsRefused(t *testing.T) {
	for _, unit := range []string{"[", "{", "{a: ", "- ", "? ", "[\n", "&a [*a, ", "- ["} {
		assert.NoError(t, checkDepth([]byte(strings.Repeat(unit, most/2))), unit)
		assert.ErrorContains(t, checkDepth([]byte("\n"+strings.Repeat(unit, most+1))), "nests deeper than 500 levels",
			unit)
	}
	assert.NoError(t, checkDepth([]byte(strings.Repeat("a: [b, {c: d}]\n- e: f\n", 10_000))))
}

func TestOurOwnFilesAreTaken(t *testing.T) {
	files, err := filepath.Glob("../../../../topology/*/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.NoError(t, checkDepth(text), path)
	}
}
