package federation

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/common/model"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// Engine evaluates PromQL at one time, and returns the series of a vector or a matrix. It must be safe for concurrent
// use. An error means that the result is unknown, never that there are no series.
type Engine interface {
	LinesAt(ctx context.Context, expression string, at time.Time) ([]Line, error)
}

// Line is a series with its samples, sorted by time.
type Line = query.Line

// Reader combines the data of the collector's own registry with the data that other collectors wrote to the engine. If
// both have an annotation, the registry's version is returned. A topology whose samples another collector now receives
// is returned as the engine knows it. If the engine does not answer in time, the registry's part is returned with an
// error. Reader is safe for concurrent use.
type Reader struct {
	own    *registry.Registry
	engine Engine
	now    func() time.Time

	mu     sync.Mutex
	listed *listed // topologies of the engine; nil before the first query
}

// New returns a reader of the registry own and of engine. If engine is nil, the reader returns only data of the
// registry.
func New(own *registry.Registry, engine Engine, now func() time.Time) *Reader {
	return &Reader{own: own, engine: engine, now: now}
}

const (
	// engineTimeout is how long an answer waits for the engine. After that it has only the registry's part.
	engineTimeout = 5 * time.Second
	// furthest is how far back annotations are searched, which is how long a registry keeps them.
	furthest = 90 * 24 * time.Hour
)

// ask evaluates an expression within engineTimeout. Its error says which part of the answer is missing.
func (r *Reader) ask(ctx context.Context, expression string, at time.Time) ([]Line, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	found, err := r.engine.LinesAt(ctx, expression, at)
	if err != nil {
		return nil, fmt.Errorf("data of other collectors is missing: %w", err)
	}
	return found, nil
}

// Annotations returns the annotations that a filter selects, of this and of other collectors, sorted by time. If this
// collector has an annotation too, its own version is returned. With an error, all own annotations are returned and
// those of others are missing.
func (r *Reader) Annotations(ctx context.Context, f registry.Filter) ([]registry.Annotation, error) {
	own := r.own.Annotations(f)
	if r.engine == nil {
		return own, nil
	}
	shared, err := r.shared(ctx, f)
	if len(shared) == 0 {
		return own, err
	}
	had := map[string]bool{}
	for _, a := range r.own.Annotations(registry.Filter{Topology: f.Topology, ToMs: math.MaxInt64}) {
		had[sharedID(identityOf(&a), a.TimeMs)] = true
	}
	for _, a := range shared {
		if !had[a.ID] && f.Selects(&a) {
			own = append(own, a)
		}
	}
	return f.Newest(own), err
}

// shared returns the engine's annotations around the filter's time range.
func (r *Reader) shared(ctx context.Context, f registry.Filter) ([]registry.Annotation, error) {
	nowMs, reach := r.now().UnixMilli(), Reach.Milliseconds()
	toMs := min(min(f.ToMs, nowMs)+reach, nowMs)
	fromMs := max(f.FromMs-reach, nowMs-furthest.Milliseconds())
	if f.FromMs < 0 {
		fromMs = nowMs - furthest.Milliseconds()
	}
	if toMs <= fromMs {
		return nil, nil
	}
	of := ""
	if f.Topology != "" {
		of = ",topology=" + strconv.Quote(clip(f.Topology))
	}
	found, err := r.ask(ctx, fmt.Sprintf(`{__name__=~"%s|%s"%s}[%dms]`, Start, End, of, toMs-fromMs),
		time.UnixMilli(toMs))
	if err != nil {
		return nil, err
	}
	return annotationsOf(found), nil
}

// text identifies a version of an annotation: changing the text of an annotation creates another series.
type text struct {
	identity
	text string
}

// annotationsOf combines the series of beginnings and ends to annotations. If several texts have the same beginning,
// because an annotation was changed, the one with the latest end is used.
func annotationsOf(found []Line) []registry.Annotation {
	ends := map[text][]int64{}
	for _, l := range found {
		if l.Labels[model.MetricNameLabel] == End {
			ends[textOf(l)] = append(ends[textOf(l)], moments(l)...)
		}
	}
	byID := map[string]registry.Annotation{}
	for _, l := range found {
		if l.Labels[model.MetricNameLabel] != Start {
			continue
		}
		of := textOf(l)
		starts := moments(l)
		for i, startMs := range starts {
			nextMs := int64(math.MaxInt64)
			if i+1 < len(starts) {
				nextMs = starts[i+1]
			}
			a := registry.Annotation{ID: sharedID(of.identity, startMs), Topology: of.topology, TimeMs: startMs,
				EndMs: lastIn(ends[of], startMs, nextMs), Title: of.title, Text: of.text, Origin: registry.OfEngine}
			if a.Kind() != of.kind {
				a.Tags = []string{of.kind}
			}
			if before, twice := byID[a.ID]; !twice || before.EndMs < a.EndMs ||
				before.EndMs == a.EndMs && before.Text < a.Text {
				byID[a.ID] = a
			}
		}
	}
	return slices.AppendSeq(make([]registry.Annotation, 0, len(byID)), maps.Values(byID))
}

func textOf(l Line) text {
	return text{identity{l.Labels["topology"], l.Labels["kind"], l.Labels["title"]}, l.Labels["text"]}
}

// moments returns the values of a series as times in ms, sorted and without duplicates.
func moments(l Line) []int64 {
	all := make([]int64, 0, len(l.Values))
	for _, v := range l.Values {
		if v > 0 && v < math.MaxInt64/1000 { // other programs may write any value to the engine
			all = append(all, int64(math.Round(v*1000)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// lastIn returns the last of times in [fromMs, beforeMs), or 0 if there is none.
func lastIn(times []int64, fromMs, beforeMs int64) (last int64) {
	for _, ms := range times {
		if ms >= fromMs && ms < beforeMs {
			last = max(last, ms)
		}
	}
	return last
}

// sharedID returns the id of an annotation. It is the same in the answers of all collectors.
func sharedID(of identity, startMs int64) string {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%q %q %q %d", of.topology, of.kind, of.title, startMs)
	return registry.SharedPrefix + strconv.FormatUint(hash.Sum64(), 16)
}
