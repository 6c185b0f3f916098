//go:build prometheus

package httpapi

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spaced is without the second space that protobuf's text has or has not, by the build of the program.
func spaced(text string) string { return strings.ReplaceAll(text, ":  ", ": ") }

// A real Prometheus over the same slices gives the same, to the byte, in every form.
func TestRealPrometheusFederates(t *testing.T) {
	s := openRecent(t, time.Now())
	blocks := filepath.Join(t.TempDir(), "blocks")
	require.NoError(t, s.Snapshot(t.Context(), blocks))
	ours := httptest.NewServer(newHandler(t, s))
	t.Cleanup(ours.Close)
	real := startPrometheus(t, blocks, "")
	for _, f := range federations {
		assert.Equal(t, spaced(federated(t, real, f.match, f.accept)), spaced(federated(t, ours.URL, f.match, f.accept)), "%v as %q", f.match, f.accept)
	}
}
