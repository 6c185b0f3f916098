package load

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestActiveQueriesAreThoseOfStoredSlices(t *testing.T) {
	var asked, answer string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.FormValue("query") + " @ " + r.FormValue("time")
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	within := func(from, to time.Time) (*Active, error) {
		return activeWithin(t.Context(), server.Listener.Addr().String(), "b", from, to)
	}
	end := time.UnixMilli(1_795_200_090_250)

	answer = `{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"task":"3"},"values":[[1795200010,"3"],[1795200020,"5"],[1795200030,"NaN"]]},
		{"metric":{"task":"4"},"values":[[1795200010,"4"],[1795200020,"1"]]}]}}`
	active, err := within(end.Add(-90*time.Second), end)
	require.NoError(t, err)
	assert.Equal(t, &Active{Most: 7, UntilMs: 1_795_200_020_000}, active, "the tasks of a slice are added up")
	assert.Equal(t, `bullet_active_queries{topology="b",component="JoinBolt"}[90000ms] @ 1795200090.25`, asked)

	answer = `{"status":"success","data":{"resultType":"matrix","result":[]}}`
	active, err = within(end.Add(-time.Second), end)
	require.NoError(t, err)
	assert.Nil(t, active)

	answer = `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1795200010,"many"]]}]}}`
	_, err = within(end.Add(-time.Second), end)
	assert.ErrorContains(t, err, "query the collector: bullet_active_queries")
}
