//go:build prometheus

package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// spaced is without the second space that protobuf's text has or has not, by the build of the program.
func spaced(text string) string { return strings.ReplaceAll(text, ":  ", ": ") }

// A real Prometheus over the same slices gives the same, to the byte, in every form.
func TestRealPrometheusFederates(t *testing.T) {
	s := openRecent(t, time.Now())
	ours := httptest.NewServer(newHandler(t, s))
	t.Cleanup(ours.Close)
	real := startPrometheus(t, exportBlocks(t, s), "", maxSamples)
	for _, f := range federations {
		assert.Equal(t, spaced(federated(t, real, f.match, f.accept)),
			spaced(federated(t, ours.URL, f.match, f.accept)), "%v as %q", f.match, f.accept)
	}
}
