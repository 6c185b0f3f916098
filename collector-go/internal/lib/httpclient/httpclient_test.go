package httpclient

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func packed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

// get sends a request to a server with the given handler.
func get(t *testing.T, o Options, answer http.HandlerFunc) (string, error) {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	client, err := New(o)
	require.NoError(t, err)
	defer client.CloseIdleConnections()
	response, err := client.Post(server.URL, "text/plain", strings.NewReader("question"))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func TestARedirectIsAnErrorAndNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		asked := 0
		_, err := get(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			asked++
			w.Header().Set("Location", "http://user:s3cret@login.example/start?token=s3cret")
			w.WriteHeader(status)
		})
		require.ErrorContains(t, err, "the answer is a redirect")
		assert.ErrorContains(t, err, "to http://(hidden)@login.example/start?(hidden); use that address")
		assert.NotContains(t, err.Error(), "s3cret")
		var redirect *RedirectError
		require.ErrorAs(t, err, &redirect)
		assert.Equal(t, 1, asked)
	}
	_, err := get(t, Options{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) })
	assert.ErrorContains(t, err, "without an address")
	// Redirects are not followed, even if Access allows them.
	access := config.DefaultHTTPClientConfig
	access.FollowRedirects = true
	_, err = get(t, Options{Access: &access}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	assert.ErrorContains(t, err, "redirect")
}

func TestAPageForPeopleIsNoAnswer(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<html>\n<title>Log in</title>")
	}
	_, err := get(t, Options{}, page)
	assert.ErrorContains(t, err, `an HTML page, probably of a login or a proxy: "<html> <title>Log in</title>"`)
	text, err := get(t, Options{Pages: true}, page)
	require.NoError(t, err)
	assert.Contains(t, text, "Log in")
}

func TestBodiesAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, answer := range map[string]http.HandlerFunc{
		"plain": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, long+"x")
		},
		"packed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed(long + "x"))
		},
	} {
		_, err := get(t, Options{MostBytes: 1 << 20}, answer)
		assert.ErrorContains(t, err, "the answer exceeds 1 MiB", name)
		text, err := get(t, Options{MostBytes: 1<<20 + 1}, answer)
		require.NoError(t, err, name)
		assert.Len(t, text, 1<<20+1, name)
	}
	_, err := get(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed(long)[:50])
	})
	assert.Error(t, err, "what is cut is no answer")
}

func TestAServerThatNeverAnswersIsAbandoned(t *testing.T) {
	_, err := get(t, Options{Timeout: time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client has disconnected
		<-r.Context().Done()
	})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAUserInAURLIsSentAndNotRepeated(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		_, _ = io.WriteString(w, user+" "+password)
	}))
	u, err := url.Parse(strings.Replace(server.URL, "://", "://me:s3cret@", 1))
	require.NoError(t, err)
	bare, user := Bare(u)
	client := Plain(Options{User: user, Connections: 3})
	response, err := client.Get(bare.String())
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	_ = response.Body.Close()
	assert.Equal(t, "me s3cret", string(text))
	server.Close()
	_, err = client.Get(bare.String())
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "me:")
	assert.NotContains(t, err.Error(), "s3cret")
	assert.Equal(t, "me:s3cret", u.User.String(), "the URL itself is left as it was")
}
