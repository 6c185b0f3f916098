package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unwanted are words for which the field has its own: reports, states and notifies; again; abandons and releases. A key
// of a file that is written stays what it is.
var unwanted = regexp.MustCompile(`(?i)(?:^|[^"\w])(told|tells|anew|gives up|given up|lets go|let go of)\b`)

func TestWordsAreTheFields(t *testing.T) {
	const root = "../../.."
	seen := 0
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && notPages[entry.Name()]:
			return filepath.SkipDir
		case !slices.Contains([]string{".go", ".java", ".js", ".mjs", ".md", ".proto", ".yaml"}, filepath.Ext(file)) ||
			filepath.Base(file) == "words_test.go":
			return nil
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		seen++
		for i, line := range strings.Split(string(source), "\n") {
			if found := unwanted.FindStringSubmatch(line); found != nil {
				assert.Fail(t, "a word that another one says better", "%s:%d: %s", file, i+1, found[1])
			}
		}
		return nil
	}))
	assert.Greater(t, seen, 1000)
}
