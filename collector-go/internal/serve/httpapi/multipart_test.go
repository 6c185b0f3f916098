package httpapi

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// application/x-www-form-urlencoded and multipart/form-data (curl -F) are equivalent, as in Prometheus. Otherwise a
// filter could be ignored, and the answer would be about everything.
func TestAFormOfSeveralPartsCountsAsAnyOther(t *testing.T) {
	h := newHandler(t, openInMemory(t))
	for _, path := range []string{"/api/v1/query", "/api/v1/query_range", "/api/v1/labels", "/api/v1/series",
		"/api/v1/query_exemplars", "/api/v1/format_query"} {
		form := url.Values{"query": {`bullet_worker_info{worker="host-0:6700"}`}, "match[]": {`bullet_worker_info{worker="host-0:6700"}`},
			"time": {"1700003600"}, "start": {"1700003600"}, "end": {"1700003700"}, "step": {"10"}, "limit": {"1"}}
		post := func(kind, body string) string {
			r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
			r.Header.Set("Content-Type", kind)
			return call(t, h, r)
		}
		var parts bytes.Buffer
		w := multipart.NewWriter(&parts)
		for name, values := range form {
			require.NoError(t, w.WriteField(name, values[0]))
		}
		require.NoError(t, w.Close())
		encoded := post("application/x-www-form-urlencoded", form.Encode())
		assert.Contains(t, encoded, `"success"`, path)
		assert.Equal(t, encoded, post(w.FormDataContentType(), parts.String()), path)
		cut := post(w.FormDataContentType(), parts.String()[:parts.Len()-20])
		assert.Contains(t, cut, "400", path)
		assert.Contains(t, cut, "error parsing form values", path)
	}
}
