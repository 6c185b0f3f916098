package runbook

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "copy docs/runbooks into the program")

const documented = "../../../../docs/runbooks"

// The embedded pages are those of the documentation; -update copies them.
func TestThePagesAreTheDocumentations(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(documented, "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	assert.Len(t, Names(), len(found)-1, "a page that docs/runbooks no longer has: remove it")
	for _, file := range found {
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if *update {
			require.NoError(t, os.WriteFile(filepath.Join("pages", name+".md"), want, 0o644))
			continue
		}
		have, ok := Text(name)
		require.True(t, ok, "%s: type go test ./internal/serve/runbook -update", name)
		assert.Equal(t, string(want), have, "%s: type go test ./internal/serve/runbook -update", name)
	}
}

func get(t *testing.T, path string) (int, string) {
	answer := httptest.NewRecorder()
	Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Code, answer.Body.String()
}

var href = regexp.MustCompile(`href="([^"]*)"`)

// Every page is served completely, with headings and tables and without Markdown syntax. Every link leads to a served
// page or outside the collector.
func TestEveryPageIsServed(t *testing.T) {
	for _, name := range append(Names(), "") {
		code, page := get(t, "/"+name)
		require.Equal(t, http.StatusOK, code, name)
		if name != "" {
			assert.Contains(t, page, "<title>"+name+"</title>")
			assert.Contains(t, page, `<h2 id="mitigation">Mitigation</h2>`)
		}
		assert.Contains(t, page, "<td>")
		body := regexp.MustCompile(`(?s)<code[^>]*>.*?</code>`).ReplaceAllString(page, "")
		assert.NotContains(t, body, "](", name)
		assert.NotContains(t, body, "|--", name)
		assert.NotContains(t, body, "```", name)
		for _, m := range href.FindAllStringSubmatch(page, -1) {
			link, err := url.Parse(m[1])
			require.NoError(t, err)
			switch {
			case link.Host != "":
				assert.FileExists(t,
					filepath.Join("../../../..",
						strings.TrimPrefix(link.Path, "/bullet-metrics/bullet-metrics/blob/main/")),
					"%s of %s", m[1], name)
			case link.Path == "../../":
			default:
				code, page := get(t, "/"+strings.TrimPrefix(link.Path, "./"))
				assert.Equal(t, http.StatusOK, code, "%s of %s", m[1], name)
				if link.Fragment != "" {
					assert.Contains(t, page, `id="`+link.Fragment+`"`, "%s of %s", m[1], name)
				}
			}
		}
	}
}

func TestWhatIsNoPageIsNotFound(t *testing.T) {
	for _, path := range []string{"/BulletNone", "/../runbook.go", "/pages/README", "/..%2Frunbook"} {
		code, _ := get(t, path)
		assert.Equal(t, http.StatusNotFound, code, path)
	}
	_, ok := Text("../runbook")
	assert.False(t, ok)
}
