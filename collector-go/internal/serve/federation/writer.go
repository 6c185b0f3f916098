package federation

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Changes provides annotations by their position in the journal. The registry implements it.
type Changes interface {
	// AnnotationsSince returns the annotations that changed after a position, and the position up to which the list is
	// complete.
	AnnotationsSince(after uint64) (changed []registry.Annotation, upTo uint64)
}

// Store accepts samples for an engine. forward.Store implements it. Its methods are called from one goroutine.
type Store interface {
	// Append returns when the engine has acknowledged the columns. After an error it is called again with the same
	// arguments.
	Append(ctx context.Context, upTo uint64, c *slice.Columns) (rejected map[string]int, err error)
	// Durable returns the position up to which everything is acknowledged.
	Durable() uint64
}

// WriterOptions are the options of a Writer.
type WriterOptions struct {
	Name   string // name of the store, for metrics and the log
	Now    func() time.Time
	Logger *slog.Logger
	// Fates counts annotations by store and fate; see NewFates.
	Fates *prometheus.CounterVec
}

// NewFates returns the counter that all writers share, and registers it.
func NewFates(r prometheus.Registerer) *prometheus.CounterVec {
	make := instrument.New("bullet_metrics_", nil)
	fates := make.Counters("shared_annotations_total",
		"Annotations for other collectors over the same engine, by fate: written, beyond, old or refused. Those beyond exceed the topology's hourly limit, and old ones ended more than a day ago. For refused, it counts the samples that the receiver refused.",
		"store", "fate")
	make.Register(r)
	return fates
}

// Writer writes a registry's annotations to an engine. It writes each one after it is durable in the journal, in
// journal order. Its position is the store's cursor. After a restart it continues from there, and may write some
// annotations again.
type Writer struct {
	options WriterOptions
	changes Changes
	store   Store
	sent    uint64         // position in the journal
	pending *slice.Columns // being written, covers changes up to upTo; nil: none
	upTo    uint64
	written map[string]*quota // by topology
}

// quota counts what a topology has shared within an hour.
type quota struct {
	hour   int64
	series map[uint64]bool // by hash of the labels
}

// NewWriter returns a writer. Run starts it.
func NewWriter(changes Changes, store Store, o WriterOptions) *Writer {
	w := &Writer{options: o, changes: changes, store: store, sent: store.Durable(), written: map[string]*quota{}}
	for _, fate := range []string{"written", "beyond", "old", "refused"} {
		o.Fates.WithLabelValues(o.Name, fate)
	}
	return w
}

const (
	period     = time.Second
	lastRetry  = 10 * time.Second
	lastMoment = time.Second // for the remaining changes when the collector stops
)

// Run writes until ctx is done. Then it tries for lastMoment to write the remaining changes.
func (w *Writer) Run(ctx context.Context) error {
	failed := 0 * period
	for {
		switch err := w.share(ctx); {
		case err == nil:
			failed = 0
		case ctx.Err() == nil:
			if failed == 0 {
				w.options.Logger.Warn("writing annotations for other collectors failed; retrying", "store",
					w.options.Name, "error", err)
			}
			failed = min(max(2*failed, period), lastRetry)
		}
		timer := time.NewTimer(max(failed, period))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastMoment)
			defer cancel()
			_ = w.share(ending) // after an error, the next start continues from the cursor
			return nil
		}
	}
}

// share writes what has changed since the last call.
func (w *Writer) share(ctx context.Context) error {
	if w.pending == nil {
		changed, upTo := w.changes.AnnotationsSince(w.sent)
		if upTo <= w.sent {
			return nil // after a restart: the replayed changes have already been sent
		}
		w.upTo = upTo
		if w.pending = w.columns(changed); w.pending == nil {
			w.sent = upTo
			return nil
		}
	}
	rejected, err := w.store.Append(ctx, w.upTo, w.pending)
	if err != nil {
		return fmt.Errorf("share annotations: %w", err)
	}
	for _, samples := range rejected {
		w.count("refused", samples)
	}
	w.pending, w.sent = nil, w.upTo
	return nil
}

func (w *Writer) count(fate string, n int) {
	w.options.Fates.WithLabelValues(w.options.Name, fate).Add(float64(n))
}

// columns converts annotations to samples. It returns nil if there is nothing to write.
func (w *Writer) columns(changed []registry.Annotation) *slice.Columns {
	c := &slice.Columns{}
	refs := map[string]slice.Ref{}
	nowMs := w.options.Now().UnixMilli()
	for i := range changed {
		a := &changed[i]
		if max(a.TimeMs, a.EndMs) < nowMs-Reach.Milliseconds() {
			w.count("old", 1)
			continue
		}
		if !w.has(a, nowMs) {
			w.count("beyond", 1)
			continue
		}
		w.count("written", 1)
		w.add(c, refs, labelsOf(Start, a), a.TimeMs, nowMs)
		if a.EndMs != 0 {
			w.add(c, refs, labelsOf(End, a), a.EndMs, nowMs)
		}
	}
	if c.Len() == 0 {
		return nil
	}
	return c
}

// add appends one sample. Its timestamp is moved into the range that a receiver accepts; the value is the exact time.
func (w *Writer) add(c *slice.Columns, refs map[string]slice.Ref, series labels.Labels, ms, nowMs int64) {
	key := series.String()
	ref, known := refs[key]
	if !known {
		ref = slice.Ref(len(refs)) // valid only within these columns
		refs[key] = ref
		c.Definitions = append(c.Definitions, slice.Definition{Ref: ref,
			Series: metric.Series{Labels: series, Kind: metric.KindGauge}})
	}
	c.Refs, c.Values = append(c.Refs, ref), append(c.Values, float64(ms)/1000)
	c.EndsMs = append(c.EndsMs, min(max(ms, nowMs-oldest.Milliseconds()), nowMs))
}

// has reports whether a topology may share one more annotation, or has already shared this one within the hour.
func (w *Writer) has(a *registry.Annotation, nowMs int64) bool {
	hour := nowMs / time.Hour.Milliseconds()
	maps.DeleteFunc(w.written, func(_ string, q *quota) bool { return q.hour != hour })
	q := w.written[a.Topology]
	if q == nil {
		q = &quota{hour, map[uint64]bool{}}
		w.written[a.Topology] = q
	}
	series := labelsOf(Start, a).Hash()
	if !q.series[series] && len(q.series) >= MaxSeries {
		return false
	}
	q.series[series] = true
	return true
}

// labelsOf returns the labels of an annotation's series, without empty ones.
func labelsOf(name string, a *registry.Annotation) labels.Labels {
	of := identityOf(a)
	return labels.NewBuilder(labels.FromStrings(model.MetricNameLabel, name, "topology", of.topology, "kind", of.kind,
		"title", of.title)).Set("text", clip(a.Text)).Labels() // the builder omits empty labels
}
