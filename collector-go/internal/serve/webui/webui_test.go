package webui

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func get(t *testing.T, target string, header ...string) *http.Response {
	h, err := Handler()
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestThePageIsServedUnderAStrictPolicy(t *testing.T) {
	for target, kind := range map[string]string{"/": "text/html; charset=utf-8",
		"/page/js/main.js": "text/javascript; charset=utf-8", "/page/page.css": "text/css; charset=utf-8"} {
		r := get(t, target)
		assert.Equal(t, http.StatusOK, r.StatusCode, target)
		assert.Equal(t, kind, r.Header.Get("Content-Type"))
		assert.Equal(t, policy, r.Header.Get("Content-Security-Policy"))
		assert.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
		assert.Equal(t, "no-referrer", r.Header.Get("Referrer-Policy"))
	}
	for _, target := range []string{"/page/", "/page/index.html", "/page/../webui.go", "/page/vendor/uplot/README.md"} {
		assert.Equal(t, http.StatusNotFound, get(t, target).StatusCode, target)
	}
	assert.NotContains(t, policy, "unsafe")
}

func TestWhatIsKnownIsNotSentAgain(t *testing.T) {
	tag := get(t, "/page/js/main.js").Header.Get("ETag")
	again := get(t, "/page/js/main.js", "If-None-Match", tag)
	assert.Equal(t, http.StatusNotModified, again.StatusCode)
	assert.Equal(t, http.StatusOK, get(t, "/page/js/api.js", "If-None-Match", tag).StatusCode, "another file")
}

func TestFilesAreCompressed(t *testing.T) {
	plain, err := io.ReadAll(get(t, "/page/js/main.js").Body)
	require.NoError(t, err)
	zipped := get(t, "/page/js/main.js", "Accept-Encoding", "gzip, br")
	require.Equal(t, "gzip", zipped.Header.Get("Content-Encoding"))
	reader, err := gzip.NewReader(zipped.Body)
	require.NoError(t, err)
	got, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Equal(t, plain, got)
}

// The files contain nothing that the content security policy forbids, and nothing that would interpret data as markup.
func TestNothingInlineAndNothingRemote(t *testing.T) {
	forbidden := regexp.MustCompile(
		`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|<style|\sstyle=|\son[a-z]+=`)
	remote := regexp.MustCompile(`(src|href|from|import|url)\s*[=(]?\s*["'(](https?:)?//`)
	checked := 0
	require.NoError(t, fs.WalkDir(embedded, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || kinds[path.Ext(name)] == "" {
			return err
		}
		checked++
		text, err := embedded.ReadFile(name)
		assert.NotRegexp(t, forbidden, string(text), name)
		assert.NotRegexp(t, remote, string(text), name)
		return err
	}))
	assert.Greater(t, checked, 10)
}

// The page's head names every module, so that a browser need not discover them one after the other.
func TestModulesArePreloaded(t *testing.T) {
	index, err := embedded.ReadFile("static/index.html")
	require.NoError(t, err)
	modules, err := fs.Glob(embedded, "static/js/*.js")
	require.NoError(t, err)
	for _, m := range modules {
		assert.Contains(t, string(index), `"page`+strings.TrimPrefix(m, "static")+`"`)
	}
}

// If a proxy serves the collector below a path and removes the path, the page still finds its parts, because no
// address in it begins at the root.
func TestThePageWorksBelowAPath(t *testing.T) {
	h, err := Handler()
	require.NoError(t, err)
	proxied := http.StripPrefix("/metrics-of/bullet", h)
	get := func(target string) (int, string) {
		w := httptest.NewRecorder()
		proxied.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		return w.Code, w.Body.String()
	}
	base, err := url.Parse("http://collector/metrics-of/bullet/")
	require.NoError(t, err)
	code, index := get(base.Path)
	require.Equal(t, http.StatusOK, code)
	links := regexp.MustCompile(`(?:href|src)="([^"#]+)"`).FindAllStringSubmatch(index, -1)
	require.Greater(t, len(links), 30)
	for _, link := range links {
		to, err := base.Parse(link[1])
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(to.Path, base.Path), "%s leads out of the path", link[1])
		if strings.HasPrefix(link[1], "page/") {
			code, _ := get(to.Path)
			assert.Equal(t, http.StatusOK, code, link[1])
		}
	}
	fromRoot := regexp.MustCompile(`(fetch|href|src|import)[^\n]{0,10}['"` + "`" + `]/[a-z-]`)
	require.NoError(t, fs.WalkDir(embedded, "static/js", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := embedded.ReadFile(name)
		assert.NotRegexp(t, fromRoot, string(text), name)
		return err
	}))
}
