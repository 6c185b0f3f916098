//go:build prometheus

package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

// spaced removes a second space after a colon, which protobuf's text format has in some builds of the program and not
// in others.
func spaced(text string) string { return strings.ReplaceAll(text, ":  ", ": ") }

// A real Prometheus with the same slices returns the same bytes in every format.
func TestRealPrometheusFederates(t *testing.T) {
	cases.Full(t, ourPrometheus)
	s := openRecent(t, time.Now())
	ours := httptest.NewServer(newHandler(t, s))
	t.Cleanup(ours.Close)
	real := startPrometheus(t, exportBlocks(t, s), "", maxSamples)
	for _, f := range federations {
		assert.Equal(t, spaced(federated(t, real, f.match, f.accept)),
			spaced(federated(t, ours.URL, f.match, f.accept)), "%v as %q", f.match, f.accept)
	}
}
