package load

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Queries go to the DRPC servers in turn, or to the gateway if there are none.
func TestATargetIsDRPCServersInTurnOrAGateway(t *testing.T) {
	var asked []string
	serve := func(name, answer string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, name+" "+r.URL.Path)
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	target := Target{Gateway: serve("gateway", `{"records":[],"meta":{}}`),
		DRPC:     []string{serve("a", `{"records":[],"meta":{}}`), serve("b", `{"records":[],"meta":{}}`)},
		Function: "bullet-query"}
	ask := func(n int) {
		submitter, closing := target.Open(2)
		defer closing()
		for range n {
			_, err := submitter.Query(t.Context(), "SELECT")
			require.NoError(t, err)
		}
	}
	ask(3)
	target.DRPC = nil
	ask(1)
	assert.Equal(t, []string{"a /drpc/bullet-query", "b /drpc/bullet-query", "a /drpc/bullet-query",
		"gateway /api/bullet/queries/http-query"}, asked)
}
