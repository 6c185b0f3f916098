package advisory

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// osv answers batch queries as OSV does, a page at a time where there are several.
func osv(t *testing.T, pages map[string][][]string) Database {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "POST /v1/querybatch", r.Method+" "+r.URL.Path)
		var asked struct{ Queries []query }
		if !assert.NoError(t, json.NewDecoder(r.Body).Decode(&asked)) {
			return
		}
		assert.LessOrEqual(t, len(asked.Queries), 1_000)
		results := []any{}
		for _, q := range asked.Queries {
			result := map[string]any{}
			page := 0
			if q.PageToken != "" {
				_, err := fmt.Sscan(q.PageToken, &page)
				assert.NoError(t, err)
			}
			if found := pages[q.Package.PURL]; page < len(found) {
				vulns := []any{}
				for _, id := range found[page] {
					vulns = append(vulns, map[string]string{"id": id, "modified": "2026-01-01T00:00:00Z"})
				}
				result["vulns"] = vulns
				if page+1 < len(found) {
					result["next_page_token"] = fmt.Sprint(page + 1)
				}
			}
			results = append(results, result)
		}
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"results": results}))
	}))
	t.Cleanup(server.Close)
	return Database{URL: server.URL, Client: server.Client()}
}

func TestWhatIsKnownIsFound(t *testing.T) {
	database := osv(t, map[string][][]string{"pkg:maven/org.example/bad@1.0": {{"GHSA-1", "GHSA-2"}, {}, {"GHSA-3"}}})
	purls := []string{"pkg:maven/org.example/good@1.0", "pkg:maven/org.example/bad@1.0"}
	for i := range 2_500 {
		purls = append(purls, fmt.Sprintf("pkg:maven/org.example/good-%d@1.0", i))
	}
	known, err := database.Known(t.Context(), purls)
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"pkg:maven/org.example/bad@1.0": {"GHSA-1", "GHSA-2", "GHSA-3"}}, known)

	known, err = database.Known(t.Context(), purls[:1])
	require.NoError(t, err)
	assert.Empty(t, known)
}

// Whatever is not an answer to each question proves nothing.
func TestAnotherAnswerProvesNothing(t *testing.T) {
	for fault, answer := range map[string]http.HandlerFunc{
		"503": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"cannot be read": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<html>Log in to the network first")
		},
		"answered 0 of 1": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") },
		"answers have no end": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"results": [{"next_page_token": "1"}]}`)
		},
		"No connection at all": nil,
	} {
		server := httptest.NewServer(answer)
		database := Database{URL: server.URL, Client: server.Client()}
		if answer == nil {
			server.Close()
			fault = "connect"
		}
		_, err := database.Known(t.Context(), []string{"pkg:maven/org.example/good@1.0"})
		assert.ErrorContains(t, err, fault)
		server.Close()
	}
}

func TestWhatIsAcceptedIsAcceptedUntilADay(t *testing.T) {
	accepted, err := ParseAccepted("# comment\n\nGHSA-1 2026-11-30 not reached: we never parse XML\n")
	require.NoError(t, err)
	lastDay := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	assert.True(t, accepted.At("GHSA-1", lastDay))
	assert.False(t, accepted.At("GHSA-1", lastDay.Add(time.Second)))
	assert.False(t, accepted.At("GHSA-2", lastDay))

	_, err = ParseAccepted("GHSA-1 2026-11-30")
	assert.ErrorContains(t, err, "line 1")
	_, err = ParseAccepted("\nGHSA-1 soon because")
	assert.ErrorContains(t, err, "line 2")
}
