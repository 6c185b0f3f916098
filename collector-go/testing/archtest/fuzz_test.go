package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)
	fuzzRow    = regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| ([^|]+) \\|")
)

// The page of what is fuzzed has every target, and no other.
func TestThePageListsEveryFuzzTarget(t *testing.T) {
	var targets []string
	require.NoError(t, filepath.WalkDir("../../internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range fuzzTarget.FindAllSubmatch(text, -1) {
			targets = append(targets, filepath.ToSlash(filepath.Dir(path))[len("../../internal/"):]+" "+string(found[1]))
		}
		return err
	}))
	require.NotEmpty(t, targets)
	page, err := os.ReadFile("../../../docs/fuzzing.md")
	require.NoError(t, err)
	var listed []string
	for _, row := range fuzzRow.FindAllSubmatch(page, -1) {
		for name := range strings.SplitSeq(string(row[2]), ", ") {
			listed = append(listed, string(row[1])+" "+strings.Trim(name, "`"))
		}
	}
	assert.ElementsMatch(t, targets, listed)
}
