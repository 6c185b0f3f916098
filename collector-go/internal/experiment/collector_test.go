package experiment

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secured is a collector behind TLS that wants a token; its certificate's authority is in a file.
func secured(t *testing.T, token string) (url, ca string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"scalar","result":[1,"42"]}}`)
	}))
	t.Cleanup(server.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, text, 0o644))
	return server.URL, ca
}

func TestACollectorBehindTLSAndAToken(t *testing.T) {
	url, ca := secured(t, "s3cret")
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("s3cret\n"), 0o600))
	for _, address := range []string{url, url + "/", strings.TrimPrefix(url, "https://")} {
		c, err := NewCollectorAt(address, CollectorAccess{CA: ca, TokenFile: token})
		require.NoError(t, err)
		v, err := c.Calculate(t.Context(), "42", time.Unix(1, 0))
		require.NoError(t, err, address)
		assert.Equal(t, 42.0, float64(v))
		require.NoError(t, c.SetMark(t.Context(), Mark{Title: "T"}), "annotations go the same way")
	}
	c, err := NewCollectorAt(url, CollectorAccess{CA: ca})
	require.NoError(t, err)
	_, err = c.Calculate(t.Context(), "42", time.Unix(1, 0))
	require.Error(t, err, "without the token")
	c, err = NewCollector(url)
	require.NoError(t, err)
	_, err = c.Calculate(t.Context(), "42", time.Unix(1, 0))
	require.ErrorContains(t, err, "certificate", "the system does not know its authority")
}

func TestAddressesOfCollectorsAreChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	for address, c := range map[string]struct {
		access CollectorAccess
		want   string
	}{
		"ftp://a:1":       {CollectorAccess{}, "write host:port, http://host:port or https://host:port"},
		"http://":         {CollectorAccess{}, "write host:port"},
		"http://a:1":      {CollectorAccess{TokenFile: file}, "a token would go out in the clear: write https://a:1"},
		"a:1":             {CollectorAccess{TokenFile: file}, "a token would go out in the clear: write https://a:1"},
		"http://a:2":      {CollectorAccess{CA: file}, "a CA is given: write https://a:2"},
		"https://a:1":     {CollectorAccess{TokenFile: file + "-none"}, "the collector's token: open"},
		"https://a:2":     {CollectorAccess{CA: file + "-none"}, "the collector's CA: open"},
		"http://[::1]:1":  {CollectorAccess{TokenFile: file}, ""},
		"localhost:1":     {CollectorAccess{TokenFile: file}, ""},
		"https://a/there": {CollectorAccess{TokenFile: file}, ""},
	} {
		_, err := NewCollectorAt(address, c.access)
		if c.want == "" {
			assert.NoError(t, err, address)
			continue
		}
		assert.ErrorContains(t, err, c.want, address)
	}
}
