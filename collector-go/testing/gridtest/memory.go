package gridtest

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// Memory is a source of runs that are given.
type Memory struct {
	labels []labels.Labels // sorted
	runs   [][]run.Run
}

// Add appends a series; series come in the order of their labels.
func (m *Memory) Add(l labels.Labels, runs []run.Run) {
	slices.SortStableFunc(runs, func(a, b run.Run) int { return int(a.FirstMs - b.FirstMs) })
	m.labels, m.runs = append(m.labels, l), append(m.runs, runs)
}

// Select finds series.
func (m *Memory) Select(_ context.Context, minMs, maxMs int64, matchers []*labels.Matcher) (found []run.Found,
	_ error) {
	for i, l := range m.labels {
		if matchesAll(l, matchers) &&
			slices.ContainsFunc(m.runs[i], func(r run.Run) bool { return overlaps(&r, minMs, maxMs) }) {
			found = append(found, run.Found{Labels: l, Reader: m, Ref: uint32(i)})
		}
	}
	return found, nil
}

// Runs reads the slices of a series.
func (m *Memory) Runs(ref uint32, minMs, maxMs int64, to []run.Run) ([]run.Run, error) {
	for _, r := range m.runs[ref] {
		if overlaps(&r, minMs, maxMs) {
			to = append(to, r)
		}
	}
	return to, nil
}

// LabelNames are sorted.
func (m *Memory) LabelNames(_ context.Context, matchers []*labels.Matcher) (names []string, _ error) {
	return m.words(matchers, func(l labels.Label) (string, bool) { return l.Name, true }), nil
}

// LabelValues are sorted.
func (m *Memory) LabelValues(_ context.Context, name string, matchers []*labels.Matcher) ([]string, error) {
	return m.words(matchers, func(l labels.Label) (string, bool) { return l.Value, l.Name == name }), nil
}

func (m *Memory) words(matchers []*labels.Matcher, word func(labels.Label) (string, bool)) (words []string) {
	for _, l := range m.labels {
		if matchesAll(l, matchers) {
			l.Range(func(one labels.Label) {
				if w, wanted := word(one); wanted {
					words = append(words, w)
				}
			})
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func matchesAll(l labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(l.Get(m.Name)) })
}

func overlaps(r *run.Run, minMs, maxMs int64) bool { return r.FirstMs <= maxMs && r.LastMs() >= minMs }

// Sources splits the world at random: into sources that follow each other in time, one for what came late, and in all
// of them other values for what an earlier source holds; into runs with the edges of pages, with and without gaps, and
// some that lie in each other.
func (w *World) Sources(seed uint64, n int) []run.Source {
	r := rand.New(rand.NewPCG(seed, 2))
	edgesMs := []int64{}
	for range n - 2 {
		edgesMs = append(edgesMs, w.FirstMs+r.Int64N(w.LastMs-w.FirstMs))
	}
	slices.Sort(edgesMs)
	memories := make([]*Memory, n)
	for i := range memories {
		memories[i] = &Memory{}
	}
	for i := range w.Series {
		s := &w.Series[i]
		parts := make([][]Point, n)
		for _, p := range s.Points {
			at := n - 1 // what came late
			if !p.Late {
				at, _ = slices.BinarySearch(edgesMs, p.Ms)
			}
			parts[at] = append(parts[at], p)
			if at < n-1 && r.IntN(20) == 0 { // the same slice again, in a source that does not win
				again, later := p, at+1+r.IntN(n-1-at)
				again.Value = -1
				parts[later] = append(parts[later], again)
			}
		}
		for at, points := range parts {
			slices.SortStableFunc(points, func(a, b Point) int { return int(a.Ms - b.Ms) })
			points = slices.CompactFunc(points, func(a, b Point) bool { return a.Ms == b.Ms })
			if len(points) > 0 {
				memories[at].Add(s.Labels, anyRuns(r, points))
			}
		}
	}
	sources := make([]run.Source, n)
	for i, m := range memories {
		sources[i] = m
	}
	return sources
}

// anyRuns cuts points into runs.
func anyRuns(r *rand.Rand, points []Point) (runs []run.Run) {
	for len(points) > 0 {
		n := min(len(points), 1+r.IntN(400))
		page := points[:n]
		points = points[n:]
		if r.IntN(8) == 0 { // two runs in each other, as where an interval changed and was changed back
			var even, odd []Point
			for i, p := range page {
				if i%2 == 0 {
					even = append(even, p)
				} else {
					odd = append(odd, p)
				}
			}
			runs = append(runs, evenRuns(r, even)...)
			page = odd
		}
		runs = append(runs, evenRuns(r, page)...)
	}
	return runs
}

// Runs makes runs of points that ascend in time.
func Runs(r *rand.Rand, points []Point) []run.Run { return evenRuns(r, points) }

// evenRuns makes runs of points at even distances and of one kind.
func evenRuns(r *rand.Rand, points []Point) (runs []run.Run) {
	for len(points) > 0 {
		stepMs := int64(10_000)
		if len(points) > 1 {
			stepMs = points[1].Ms - points[0].Ms
		}
		n := 1
		maxGap := int64(r.IntN(130)) // slots; 0: a run has none
		for n < len(points) && points[n].IsHistogram == points[0].IsHistogram {
			away := points[n].Ms - points[n-1].Ms
			if away%stepMs != 0 || away/stepMs-1 > maxGap {
				break
			}
			n++
		}
		runs = append(runs, oneRun(points[:n], stepMs))
		points = points[n:]
	}
	return runs
}

func oneRun(points []Point, stepMs int64) run.Run {
	slots := int((points[len(points)-1].Ms-points[0].Ms)/stepMs) + 1
	made := run.Run{FirstMs: points[0].Ms, StepMs: stepMs}
	if points[0].IsHistogram {
		made.Histograms = make([]*histogram.Histogram, slots)
	} else {
		made.Values = slices.Repeat([]float64{math.Pi}, slots) // means nothing where there is no slice
	}
	if slots != len(points) {
		made.Present = make([]uint64, (slots+63)/64)
	}
	for _, p := range points {
		slot := int((p.Ms - made.FirstMs) / stepMs)
		if made.Present != nil {
			made.Present[slot>>6] |= 1 << (slot & 63)
		}
		if p.IsHistogram {
			made.Histograms[slot] = p.Histogram
		} else {
			made.Values[slot] = p.Value
		}
	}
	return made
}
