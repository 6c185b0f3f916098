package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostColumns bounds a line of code. What stands between quotation marks does not count: a sentence stays whole, so
// that whoever meets it finds it.
const mostColumns = 120

// uncounted are the lines of a table within a comment, comments, texts of Java and of Go, and single characters.
var uncounted = regexp.MustCompile("(?m)" + strings.Join([]string{
	`^\t*//\t.*$`, `//.*$`, `"""(?s:.*?)"""`, `"(?:\\.|[^"\\\n])*"`, "`[^`]*`", `'(?:\\.[^'\n]*|[^'\\\n])'`}, "|"))

// uncountedOfScripts are comments in a line and the texts of JavaScript and of style sheets.
var uncountedOfScripts = regexp.MustCompile("(?m)" + strings.Join([]string{
	`//.*$`, `"(?:\\.|[^"\\\n])*"`, `'(?:\\.|[^'\\\n])*'`, "`(?:\\\\.|\\$\\{[^`]*`[^`]*`[^`]*\\}|[^`\\\\])*`"}, "|"))

// columns counts a line as an editor shows it, with four columns a tab.
func columns(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

// tooLong are the numbers of lines with more columns than are allowed, without what does not count.
func tooLong(source string, uncounted *regexp.Regexp) []int {
	counted := uncounted.ReplaceAllStringFunc(source, func(text string) string {
		if strings.HasPrefix(text, "//") && !strings.HasPrefix(text, "//\t") {
			return text
		}
		return strings.Repeat("\n", strings.Count(text, "\n"))
	})
	var found []int
	for i, line := range strings.Split(counted, "\n") {
		if columns(line) > mostColumns {
			found = append(found, i+1)
		}
	}
	return found
}

func TestALineTooLongIsFound(t *testing.T) {
	long := strings.Repeat("x", mostColumns)
	for name, c := range map[string]struct {
		source string
		found  []int
	}{
		"as long as may be":     {"a\n" + long + "\n", nil},
		"one column more":       {"a\n" + long + "y\n", []int{2}},
		"a tab is four columns": {"\t" + long[:117] + "\n", []int{1}},
		"a sentence":            {`f("` + long + `")`, nil},
		"a text of lines":       {"f(`" + long + long + "\n" + long + long + "`)\n" + long + "y", []int{3}},
		"a comment":             {"// it's " + long, []int{1}},
		"a table in a comment":  {"//\ta\t" + long, nil},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.found, tooLong(c.source, uncounted)) })
	}
}

// eachSource looks at every file of ours of some kinds, and counts them by kind.
func eachSource(t *testing.T, kinds []string, look func(file, source string)) map[string]int {
	seen := map[string]int{}
	require.NoError(t, filepath.WalkDir("../../..", func(file string, entry fs.DirEntry, err error) error {
		kind := filepath.Ext(file)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (notPages[entry.Name()] || entry.Name() == "gen" || entry.Name() == "generated"):
			return filepath.SkipDir
		case !slices.Contains(kinds, kind):
			return nil
		}
		source, err := os.ReadFile(file)
		seen[kind]++
		look(file, string(source))
		return err
	}))
	return seen
}

func TestLinesAreShort(t *testing.T) {
	seen := eachSource(t, []string{".go", ".java", ".js", ".mjs", ".css"}, func(file, source string) {
		without := uncountedOfScripts
		if kind := filepath.Ext(file); kind == ".go" || kind == ".java" {
			without = uncounted
		}
		for _, line := range tooLong(source, without) {
			assert.Fail(t, "a line of more than 120 columns", "%s:%d", file, line)
		}
	})
	assert.Greater(t, seen[".go"], 500)
	assert.Greater(t, seen[".java"], 200)
	assert.Greater(t, seen[".js"], 30)
}
