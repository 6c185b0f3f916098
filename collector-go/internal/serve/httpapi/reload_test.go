package httpapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/accesstest"
)

// reloader counts its calls, and returns what a test sets.
type reloader struct {
	reloads     int
	needRestart []string
	err         error
}

func (r *reloader) Reload() ([]string, error) { r.reloads++; return r.needRestart, r.err }

func (r *reloader) LastReload() (bool, time.Time) { return r.err == nil, time.Unix(1000, 0).UTC() }

func TestReloadAnswersAsPrometheusDoes(t *testing.T) {
	r := &reloader{}
	h := handlerOver(t, empty{}, func(o *Options) { o.Reloader = r })
	ask := func(method string) string {
		return call(t, h, httptest.NewRequest(method, "http://localhost/-/reload", nil))
	}
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		assert.Equal(t, "200\nContent-Type: text/plain; charset=utf-8\n\nReloaded rules and access files.\n", ask(method))
	}
	r.needRestart = []string{"grpc.listen", "slice.width"}
	assert.Contains(t, ask(http.MethodPost), "These changed settings need a restart: grpc.listen, slice.width\n")
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodHead, http.MethodOptions} {
		answer := responseTo(h, httptest.NewRequest(method, "http://localhost/-/reload", nil))
		assert.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode, method)
		assert.Equal(t, "POST, PUT", answer.Header.Get("Allow"), method)
	}
	assert.Equal(t, 3, r.reloads)

	const status = "http://localhost/api/v1/status/runtimeinfo"
	assert.Contains(t, call(t, h, httptest.NewRequest(http.MethodGet, status, nil)),
		`"reloadConfigSuccess":true,"lastConfigTime":"1970-01-01T00:16:40Z"`)
	r.err = errors.New("a.yml:3: unknown field")
	assert.Contains(t, ask(http.MethodPost), "reload failed; the previous rules and access files remain in use: a.yml:3: unknown field\n")
	assert.Contains(t, call(t, h, httptest.NewRequest(http.MethodGet, status, nil)), `"reloadConfigSuccess":false`)
	assert.Equal(t, http.StatusInternalServerError,
		responseTo(h, httptest.NewRequest(http.MethodPut, "http://localhost/-/reload", nil)).StatusCode)
}

func TestReloadIsForWhoMayWriteForAllTopologies(t *testing.T) {
	tokens := accesstest.TokenFile(t, filepath.Join(t.TempDir(), "tokens"), "reader read", "writer write",
		"some write A")
	r := &reloader{}
	h := handlerOver(t, empty{}, func(o *Options) {
		o.Reloader, o.Guard = r, guardOf(t, access.Options{TokenFile: tokens})
	})
	for token, code := range map[string]int{"nobody": 401, "reader": 403, "some": 403} {
		request := httptest.NewRequest(http.MethodPost, "http://localhost/-/reload", nil)
		assert.Equal(t, code, responseTo(h, request, "Authorization", "Bearer "+token).StatusCode, token)
	}
	assert.Zero(t, r.reloads)
	request := httptest.NewRequest(http.MethodPost, "http://localhost/-/reload", nil)
	assert.Equal(t, 200, responseTo(h, request, "Authorization", "Bearer writer").StatusCode)
}
