package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// A timeout is answered with 503, wherever it occurs. After 422 a client would not try again.
func TestStatusOfAFailedQuery(t *testing.T) {
	late := fmt.Errorf("read a part: %w", context.DeadlineExceeded)
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"timed out in the engine":           {promql.ErrQueryTimeout("query timed out"), http.StatusServiceUnavailable},
		"timed out in the store":            {late, http.StatusServiceUnavailable},
		"timed out in the store's iterator": {promql.ErrStorage{Err: late}, http.StatusServiceUnavailable},
		"no store":                          {query.ErrNoStore, http.StatusServiceUnavailable},
		"no store, by the engine":           {promql.ErrStorage{Err: query.ErrNoStore}, http.StatusServiceUnavailable},
		"the store failed":                  {promql.ErrStorage{Err: errors.New("damaged")}, http.StatusInternalServerError},
		"no such function":                  {errors.New("unknown function"), http.StatusUnprocessableEntity},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, failed(c.err).status()) })
	}
}
