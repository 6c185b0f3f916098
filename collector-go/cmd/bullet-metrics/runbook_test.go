package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
)

// Every alert of a running collector leads to a page that this collector serves, and the command prints the same text.
func TestAlertsLeadToRunbooksOfTheCollector(t *testing.T) {
	c := settings(t.TempDir())
	c.HTTP.ExternalURL = "http://metrics.example:9320/sub"
	r := startCollector(t, c)
	rules := r.body("/api/v1/rules?type=alert")
	for _, a := range alertrules.Alerts() {
		assert.Contains(t, rules, `"runbook_url":"http://metrics.example:9320/sub/runbooks/`+a.Name+`"`)
		response, err := http.Get("http://" + r.col.httpListener.Addr().String() + "/runbooks/" + a.Name)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, http.StatusOK, response.StatusCode, a.Name)
		text, err := program("runbook", strings.ToLower(a.Name))
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(text, "# "+a.Name+"\n"))
	}
	assert.Contains(t, r.body("/runbooks/"), "Alert delay")
	list, err := program("runbook")
	require.NoError(t, err)
	assert.Contains(t, list, "BulletClockSkew")
	_, err = program("runbook", "BulletNone")
	assert.Equal(t, exitUsage, exitCode(err))
	assert.ErrorContains(t, err, "BulletClockSkew")
}
