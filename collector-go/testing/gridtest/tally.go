package gridtest

import (
	"regexp"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
)

// Tally counts by name what a comparison had, so that one that compares nothing is seen.
type Tally map[string]int

// Count adds one where it is so.
func (t Tally) Count(name string, is bool) {
	if is {
		t[name]++
	}
}

// ofExpressions are parts of PromQL by name.
var ofExpressions = map[string]*regexp.Regexp{
	"rate":              regexp.MustCompile(`\b(rate|irate|increase)\(`),
	"_over_time":        regexp.MustCompile(`_over_time\(`),
	"least or greatest": regexp.MustCompile(`\b(min|max)_over_time\(`),
	"subquery":          regexp.MustCompile(`\[\w+:\w*\]`),
	"offset":            regexp.MustCompile(` offset `),
	"@":                 regexp.MustCompile(` @ `),
	"aggregation": regexp.MustCompile(
		`\b(sum|avg|min|max|count|stddev|stdvar|group|topk|bottomk|quantile|count_values)( by| without)? ?\(`),
	"histogram function":   regexp.MustCompile(`histogram_\w+\(`),
	"timestamp":            regexp.MustCompile(`timestamp\(`),
	"resets or changes":    regexp.MustCompile(`\b(resets|changes)\(`),
	"vectors joined":       regexp.MustCompile(` (on|ignoring) | (and|or|unless) `),
	"absent":               regexp.MustCompile(`absent(_over_time)?\(`),
	"a window of days":     regexp.MustCompile(`\[\d+d\]`),
	"relabelled":           regexp.MustCompile(`label_(replace|join)\(`),
	"selector of patterns": regexp.MustCompile(`[=!]~`),
}

// Questions adds questions that had an answer: what their expressions have, and how old at nowMs what they ask for is.
func (t Tally) Questions(had []Question, nowMs int64) {
	for _, q := range had {
		t["answered"]++
		if q.Step == 0 {
			t["instant"]++
		} else {
			t["range"]++
		}
		for name, expression := range ofExpressions {
			if expression.MatchString(q.Expr) {
				t[name]++
			}
		}
		const hourMs, dayMs = 3_600_000, 86_400_000
		switch ageMs := nowMs - q.Start.UnixMilli(); {
		case ageMs < hourMs:
			t["age of an hour"]++
		case ageMs < dayMs:
			t["age of a day"]++
		case ageMs < 7*dayMs:
			t["age of a week"]++
		case ageMs < 31*dayMs:
			t["age of a month"]++
		default:
			t["age of months"]++
		}
	}
}

// World adds what series are made of.
func (t Tally) World(w *World) {
	for i := range w.Series {
		s := &w.Series[i]
		t["series"]++
		t["slices"] += len(s.Points)
		kinds := map[bool]bool{}
		for j := range s.Points {
			p := &s.Points[j]
			kinds[p.IsHistogram] = true
			t.Count("slices off the grid", p.Ms%p.IntervalMs != 0)
			t.Count("slices on the grid", p.Ms%p.IntervalMs == 0)
			t.Count("gaps' markers", p.IsMarker())
			if p.Histogram != nil {
				t["histograms"]++
				t["histograms with the hint "+hintName[p.Histogram.CounterResetHint]]++
			}
			t.Count("late slices", p.ArrivesMs > p.Ms)
			t.Count("slices months late", p.ArrivesMs > p.Ms+60*86_400_000)
			if j > 0 {
				t.follow(s, j)
			}
		}
		t.Count("series of numbers and histograms", len(kinds) == 2)
	}
}

var hintName = map[histogram.CounterResetHint]string{
	histogram.UnknownCounterReset: "none", histogram.CounterReset: "reset", histogram.NotCounterReset: "no reset",
	histogram.GaugeType: "gauge",
}

// follow adds what a point is behind the one before it.
func (t Tally) follow(s *Series, j int) {
	last, p := &s.Points[j-1], &s.Points[j]
	switch {
	case p.Ms-last.Ms > last.IntervalMs && !last.IsMarker():
		t["gaps without a marker"]++
	case p.IntervalMs != last.IntervalMs:
		t["intervals that change"]++
	}
	if p.IsMarker() && p.ArrivesMs > p.Ms && j+1 < len(s.Points) && s.Points[j+1].ArrivesMs < p.ArrivesMs {
		t["markers later than what follows"]++
	}
	if p.Histogram != nil && last.Histogram != nil && p.Histogram.Schema != last.Histogram.Schema {
		t["schemas that change"]++
	}
	if IsReset(s, j) {
		t["counter resets"]++
	}
}

// IsReset reports whether a series' counter or histogram starts again at its j-th point.
func IsReset(s *Series, j int) bool {
	last, p := &s.Points[j-1], &s.Points[j]
	if p.Histogram != nil && last.Histogram != nil {
		return p.Histogram.ToFloat(nil).DetectReset(last.Histogram.ToFloat(nil))
	}
	return s.Labels.Get(model.MetricNameLabel) == counters && !p.IsHistogram && !last.IsHistogram &&
		p.Value < last.Value
}
