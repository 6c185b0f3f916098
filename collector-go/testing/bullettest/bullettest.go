// Package bullettest plays a query endpoint in the forms that its answers may have, those of Bullet's web service, of
// this project's gateway and of what stands between.
package bullettest

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

//go:embed answers.yaml
var answers []byte

// Form is one of the forms.
type Form struct {
	Name     string
	Status   int
	Type     string
	Encoding string
	Location string
	Gzip     bool
	Cut      int
	Body     string
	// Other states that the answer is one to another query, which only the experiments' queries can know.
	Other bool
	// End is how the query ended, "returned" or "failed". Refused states that it failed for want of room, and Words are
	// in its error.
	End     string
	Refused bool
	Words   string
}

// Forms are all forms.
func Forms(t testing.TB) (all []Form) {
	t.Helper()
	require.NoError(t, yaml.UnmarshalWithOptions(answers, &all, yaml.Strict()))
	require.Greater(t, len(all), 40)
	return all
}

// Serve answers every query in the form, until the test ends, and returns its URL.
func (f Form) Serve(t testing.TB) string {
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

// ServeHTTP implements http.Handler.
func (f Form) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	body := []byte(f.Body)
	if f.Gzip {
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		_, _ = writer.Write(body)
		_ = writer.Close()
		body = packed.Bytes()
		w.Header().Set("Content-Encoding", "gzip")
	}
	header := map[string]string{"Content-Type": f.Type, "Content-Encoding": f.Encoding, "Location": f.Location}
	if f.Type == "" {
		header["Content-Type"] = "application/json"
	}
	for name, value := range header {
		if value != "" {
			w.Header().Set(name, value)
		}
	}
	if f.Cut > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		body = body[:f.Cut]
	}
	if f.Status != 0 {
		w.WriteHeader(f.Status)
	}
	_, _ = w.Write(body)
}
