package experimentfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
)

// Unless the file gives a number, the start-up's queries are those of its smallest load that is not 0.
func TestStartUpQueries(t *testing.T) {
	for name, c := range map[string]struct {
		steps string
		want  int
	}{
		"queries":                   {"values: [0, 40, 20]", 20},
		"the cost's loads are less": {"values: [0, 40, 20]\n  expected_capacity: 40", 10},
		"none are held":             {"values: [0]", 0},
		"so the file wants":         {"values: [0, 40, 20]\n  start_up_queries: 3", 3},
		"none, so the file wants":   {"values: [0, 40, 20]\n  start_up_queries: 0", 0},
		"at a rate":                 {"values: [20, 2.01]\n  axis: queries_per_second", 61},
		"at a rate of very many":    {"values: [500]\n  axis: queries_per_second", 1000},
		"records with queries":      {"values: [100]\n  axis: records_per_second\nload: {queries: 7}", 7},
		"records with queries a second": {"values: [100]\n  axis: records_per_second\nload: {queries_per_second: 2}",
			60},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := experimentfile.Parse("mine.yaml",
				[]byte(strings.Replace(complete, "values: [10, 20]\n  warm_up: 10s\n  sustain: 30s",
					"sustain: 30s\n  warm_up: 10s\n  "+c.steps, 1)))
			require.NoError(t, err)
			plan := f.Plan()
			assert.Equal(t, c.want, plan.StartUpQueries)
			assert.GreaterOrEqual(t, plan.MostQueries(), c.want, "each has its records")
		})
	}
}
