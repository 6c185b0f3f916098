package load

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bullettest"
)

// An answer counts as returned only if it is Bullet's answer to the query. Every other answer is a failure with the
// server's words and without a latency.
func TestOnlyAnAnswerOfBulletCountsAsReturned(t *testing.T) {
	for _, form := range bullettest.Forms(t) {
		t.Run(form.Name, func(t *testing.T) {
			url := form.Serve(t)
			gateway, drpc := NewGateway(url, 1), NewDRPC(url, "f", 1)
			defer gateway.Close()
			defer drpc.Close()
			for _, target := range []Submitter{gateway, drpc} {
				now := time.Now()
				o := desk{quick(), target, time.Second, t.Context()}.ask(0, "p", start{now, now})
				assert.Equal(t, form.End, string(o.End), o.Error)
				assert.Equal(t, form.Refused, o.Refused)
				words := form.Words
				if target == Submitter(drpc) && form.Name == "a login page" {
					words = "(not JSON): \"<!DOCTYPE html>" // Storm's server labels every answer HTML
				}
				assert.Contains(t, o.Error, words)
				assert.Less(t, len(o.Error), 1000)
				tally := NewTally()
				tally.Add(o)
				result := tally.Result()
				if form.End == "failed" {
					assert.Equal(t, []int{0, 1, 0}, []int{result.Returned, result.Failed, result.Latency.Count})
					assert.Zero(t, o.Records)
				} else {
					assert.Equal(t, []int{1, 0, 1}, []int{result.Returned, result.Failed, result.Latency.Count})
				}
			}
		})
	}
}

// Storm's DRPC server labels every answer text/html. An answer of Bullet counts as returned nevertheless.
func TestAnAnswerOverDRPCThatIsCalledHTMLCounts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`{"records":[],"meta":{}}`))
	}))
	defer server.Close()
	drpc := NewDRPC(server.URL, "f", 1)
	defer drpc.Close()
	_, err := drpc.Query(t.Context(), "q")
	assert.NoError(t, err)
}

// For both targets, a refusal because the target is full differs from a failed query.
func TestWhatIsRefusedIsDistinguished(t *testing.T) {
	for code, refused := range map[int]bool{http.StatusTooManyRequests: true, http.StatusServiceUnavailable: true,
		http.StatusInternalServerError: false, http.StatusBadRequest: false} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "the limit is 2000", code)
			}))
			defer server.Close()
			gateway, drpc := NewGateway(server.URL, 1), NewDRPC(server.URL, "f", 1)
			defer gateway.Close()
			defer drpc.Close()
			for _, target := range []Submitter{gateway, drpc} {
				now := time.Now()
				o := desk{quick(), target, time.Second, t.Context()}.ask(0, "p", start{now, now})
				assert.Equal(t, Failed, o.End)
				assert.Equal(t, refused, o.Refused)
				assert.Contains(t, o.Error, fmt.Sprintf("%d %s: the limit is 2000", code, http.StatusText(code)))
			}
		})
	}
}

func TestAStatusIsAnErrorOfItsOwn(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	gateway := NewGateway(server.URL, 1)
	defer gateway.Close()
	_, err := gateway.Status(context.Background())
	var status *StatusError
	require.ErrorAs(t, err, &status)
	assert.Equal(t, StatusError{Method: "GET", URL: server.URL + "/api/source/status", Code: 404,
		Status: "404 Not Found", Text: "404 page not found"}, *status)
	assert.False(t, Refused(err))
	assert.False(t, Refused(nil))
}
