package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Too few slices, too many slices or another sum are errors.
func TestACheckFindsWhatIsMissing(t *testing.T) {
	w := Written{Topology: "t", Hosts: 5, Metrics: 1, StartMs: 61_000, Steps: 120, StepMs: 1000, WidthMs: 60_000,
		Sums: []float64{6000}}
	for _, test := range []struct {
		count, sum string
		wrong      string
	}{
		{"10", "100", ""},
		{"9", "100", "queries return 9 slices of storm_cpu_usage_user, but 10 were written"},
		{"11", "100", "11 slices"},
		{"10", "100.0167", "the sum of storm_cpu_usage_user is 6001, but 6000 was written"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			value := test.count
			if strings.Contains(r.FormValue("query"), "sum_over_time") {
				value = test.sum
			}
			assert.Equal(t, "180", r.FormValue("time"), "the end of the last slice")
			assert.Contains(t, r.FormValue("query"), `{topology="t"}[60001ms]`)
			fmt.Fprintf(w, `{"data":{"result":[{"value":[0,%q]}]}}`, value)
		}))
		err := w.Check(context.Background(), NewServer(server.URL, server.Client()))
		server.Close()
		if test.wrong == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, test.wrong)
		}
	}
}
