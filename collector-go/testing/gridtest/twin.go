package gridtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

const (
	// maxDifferences is how many differences a comparison reports before it ends.
	maxDifferences = 5
	// asks is how often a question is asked whose answers differ, see Compare.
	asks = 12
	// few questions may have few answers: who asks in small portions looks at them all.
	few = 100
)

// Compare asks n questions of a spec over both stores, and fails the test where answers differ: labels, times and
// kinds, numbers to the bit, errors, warnings. The same seed asks the same questions. What may differ, and why:
//
//   - The order of an instant vector, a distribution's empty buckets, its hint about resets, and the warning that rests
//     on that hint alone: Prometheus' store shows by them how it cuts its chunks, not what it holds.
//   - What the engine gathers from a Go map (of subqueries, timestamp(), topk, count_values) it adds in any order, and
//     takes any of equals. A question whose answer over Prometheus' store varies from one time to the next is answered
//     well by any of its answers; where none of asks is met it proves nothing, and is counted.
//
// It returns the questions that had an answer.
func Compare(t testing.TB, seed int64, n int, ours, theirs storage.Queryable, spec Spec) (had []Question) {
	t.Helper()
	t.Logf("seed %d", seed)
	options := query.DefaultOptions()
	options.MaxSamples = 5_000_000
	our, err := query.New(ours, options)
	require.NoError(t, err)
	their, err := query.New(theirs, options)
	require.NoError(t, err)
	e := &expressions{Spec: spec, Rand: rand.New(rand.NewPCG(uint64(seed), 3))}
	varied, undecided, differences := 0, 0, 0
	for range n {
		q := e.ask()
		a, b := answer(t, our, q), answer(t, their, q)
		if len(b) > 1 {
			had = append(had, Question{Expr: q.expr, Start: q.start, End: q.end, Step: q.step})
		}
		difference := firstDifference(a, b)
		if difference == "" {
			continue
		}
		met, varies := meet(t, our, their, q)
		switch {
		case met:
			varied++
			continue
		case varies:
			undecided++
			continue
		}
		t.Errorf("seed %d: %s:\n%s", seed, q, difference)
		if differences++; differences == maxDifferences {
			break
		}
	}
	t.Logf("%d of %d questions had an answer; %d had several, of which both stores gave one; %d had several of which they gave none in common",
		len(had), n, varied, undecided)
	if n >= few {
		require.Greater(t, len(had), n/2, "too few questions have an answer to prove anything")
	}
	require.LessOrEqual(t, undecided, max(1, n/50), "too many questions have no one answer")
	return had
}

// meet asks again and again: whether both stores give one answer in common, and whether theirs vary.
func meet(t testing.TB, our, their *query.Engine, q question) (met, varies bool) {
	ours, theirs := map[string]bool{}, map[string]bool{}
	for range asks {
		ours[strings.Join(answer(t, our, q), "\n")] = true
		theirs[strings.Join(answer(t, their, q), "\n")] = true
		for a := range ours {
			if theirs[a] {
				return true, true
			}
		}
	}
	return false, len(theirs) > 1
}

// answer is what a query gives, a line for each series and one for what was warned of.
func answer(t testing.TB, e *query.Engine, q question) []string {
	var asked promql.Query
	var err error
	if q.step == 0 {
		asked, err = e.Instant(t.Context(), nil, q.expr, q.start)
	} else {
		asked, err = e.Range(t.Context(), nil, q.expr, q.start, q.end, q.step)
	}
	require.NoError(t, err, "%s", q)
	defer asked.Close()
	result := asked.Exec(t.Context())
	if result.Err != nil {
		return []string{"error: " + result.Err.Error()}
	}
	return append(lines(result.Value), warnings(result))
}

func warnings(result *promql.Result) string {
	var all []string
	for _, w := range result.Warnings.AsErrors() {
		if text := w.Error(); !strings.Contains(text, "conflicting counter resets") {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return "warnings: " + strings.Join(all, "; ")
}

func lines(value parser.Value) (all []string) {
	switch value := value.(type) {
	case promql.Vector:
		for _, s := range value {
			all = append(all, s.Metric.String()+point(s.T, s.F, s.H))
		}
		slices.Sort(all)
	case promql.Matrix:
		for _, s := range value {
			line := strings.Builder{}
			line.WriteString(s.Metric.String())
			for _, p := range s.Floats {
				line.WriteString(point(p.T, p.F, nil))
			}
			for _, p := range s.Histograms {
				line.WriteString(point(p.T, 0, p.H))
			}
			all = append(all, line.String())
		}
	case promql.Scalar:
		all = append(all, "scalar"+point(value.T, value.V, nil))
	}
	return all
}

func point(ms int64, value float64, h *histogram.FloatHistogram) string {
	if h == nil {
		return fmt.Sprintf(" %d=%g/%x", ms, value, math.Float64bits(value))
	}
	h = h.Copy().Compact(0)
	return fmt.Sprintf(" %d=[schema %d zero %g %x count %x sum %x +%v%x -%v%x]", ms, h.Schema, h.ZeroThreshold,
		h.ZeroCount, h.Count, h.Sum,
		h.PositiveSpans, h.PositiveBuckets, h.NegativeSpans, h.NegativeBuckets)
}

// firstDifference is a line of ours and theirs that differ, cut to where they do; "" where there is none.
func firstDifference(ours, theirs []string) string {
	for i := range max(len(ours), len(theirs)) {
		a, b := "(nothing)", "(nothing)"
		if i < len(ours) {
			a = ours[i]
		}
		if i < len(theirs) {
			b = theirs[i]
		}
		if a == b {
			continue
		}
		same := 0
		for same < min(len(a), len(b)) && a[same] == b[same] {
			same++
		}
		from := max(0, same-40)
		name, _, _ := strings.Cut(b, "}")
		return fmt.Sprintf("line %d of %d and %d, %s}\n  ours   ...%.300s\n  theirs ...%.300s", i, len(ours),
			len(theirs), name, a[from:], b[from:])
	}
	return ""
}
