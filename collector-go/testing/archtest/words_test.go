package archtest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// unwanted are words for which the field has its own: reports, states and notifies; again; abandons and releases. A key
// of a file that is written stays what it is.
var unwanted = regexp.MustCompile(`(?i)(?:^|[^"\w])(told|tells|anew|gives up|given up|lets go|let go of)\b`)

func TestWordsAreTheFields(t *testing.T) {
	seen := eachSource(t, []string{".go", ".java", ".js", ".mjs", ".md", ".proto", ".yaml"}, func(file, source string) {
		if base := filepath.Base(file); base == "words_test.go" || base == "examples.md" {
			return
		}
		for i, line := range strings.Split(source, "\n") {
			if found := unwanted.FindStringSubmatch(line); found != nil {
				assert.Fail(t, "a word that another one says better", "%s:%d: %s", file, i+1, found[1])
			}
		}
	})
	assert.Greater(t, seen[".md"], 50)
	assert.Greater(t, seen[".proto"], 0)
}
