package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever the parameters are, the answer is JSON with a matching status, and nothing panics.
func FuzzParameters(f *testing.F) {
	handler := newHandler(f, openFixture(f))
	for _, a := range asks(f) {
		f.Add(a.path, a.form.Encode(), a.method == http.MethodPost)
	}
	f.Add("/api/v1/query", "query=bullet_worker_heap_used_bytes&time=9223372036854775807&lookback_delta=-1", false)
	f.Add("/api/v1/query_range", "query=up&start=-9e18&end=9e18&step=1e-9&limit=9223372036854775807", true)
	f.Add("/api/v1/series", "match[]=%7B%7D&start=NaN&end=Inf", true)
	f.Fuzz(func(t *testing.T, path, form string, post bool) {
		if !strings.HasPrefix(path, "/api/v1/") || strings.ContainsAny(path, "?#") {
			t.Skip()
		}
		target, err := url.Parse("http://localhost/")
		require.NoError(t, err)
		target.Path = path
		r := httptest.NewRequest(http.MethodGet, target.String(), nil)
		r.URL.RawQuery = form
		if post {
			r = httptest.NewRequest(http.MethodPost, target.String(), strings.NewReader(form))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		if !strings.HasPrefix(recorder.Header().Get("Content-Type"), "application/json") {
			if recorder.Code == http.StatusNoContent {
				assert.Equal(t, "/api/v1/query_exemplars", path,
					"only an expression without a selector is answered with nothing")
				return
			}
			assert.Contains(t, []int{301, 307, 404, 405}, recorder.Code,
				"only a path that nobody serves is not answered in JSON")
			return
		}
		var answer struct{ Status, ErrorType, Error string }
		require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &answer), recorder.Body.String())
		assert.Equal(t, answer.Status == "success", recorder.Code == http.StatusOK, recorder.Body.String())
		assert.Equal(t, answer.Status == "error", answer.ErrorType != "" && answer.Error != "", recorder.Body.String())
		assert.NotEqual(t, "internal", answer.ErrorType, recorder.Body.String())
	})
}
