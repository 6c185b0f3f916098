package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever the body contains, an accepted annotation has times that can be shown again, and is not larger than the
// limit.
func FuzzAnnotation(f *testing.F) {
	f.Add(`{"id":"a","topology":"t","time":1700000000,"end_time":"2023-11-14T22:13:20Z","title":"x","tags":["step"]}`)
	f.Add(`{"time":1e308,"end_time":-1}`)
	f.Add(`{"tags":` + strings.Repeat("[", 20_000))
	f.Add(strings.Repeat(`{"time":`, 20_000))
	f.Add(`{"title":"` + strings.Repeat("x", maxAnnotationBytes) + `"}`)
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/annotations", strings.NewReader(body))
		a, err := readAnnotation(request{Request: r})
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(body), maxAnnotationBytes)
		for _, ms := range []int64{a.TimeMs, a.EndMs} {
			require.GreaterOrEqual(t, ms, int64(0))
			require.LessOrEqual(t, ms, int64(lastMs))
			again, err := momentOf(ms).ms()
			require.NoError(t, err)
			require.Equal(t, ms, again)
		}
	})
}
