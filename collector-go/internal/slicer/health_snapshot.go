package slicer

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"

func (w writer) health(h *health) {
	w.Int(h.writtenTo)
	w.Int(h.aheadMs)
	w.telling(&h.ahead)
	w.Uint(uint64(len(h.metrics)))
	for _, m := range h.metrics {
		w.metricHealth(m)
	}
	w.tallies(h.drops)
}

func (w writer) metricHealth(m *metricHealth) {
	w.String(m.name)
	for _, ms := range []int64{m.intervalMs, m.longestMs, m.seenMs, m.lastEnd} {
		w.Int(ms)
	}
	for _, n := range []uint64{m.samples, m.missing, m.late} {
		w.Uint(n)
	}
	for _, t := range m.tellings() {
		w.telling(t)
	}
	w.tallies(m.refused)
}

func (w writer) tallies(tallies []tally) {
	w.Uint(uint64(len(tallies)))
	for i := range tallies {
		w.String(tallies[i].reason)
		w.Uint(tallies[i].n)
		w.telling(&tallies[i].told)
	}
}

func (w writer) telling(t *telling) {
	w.ref(t.hasRef, t.ref)
	w.Bool(t.live)
	w.Int(t.lastEnd)
}

func (r *reader) health(h *health) {
	h.writtenTo, h.aheadMs = r.Int(), r.Int()
	r.telling(&h.ahead)
	for range r.Count() {
		m := &metricHealth{name: r.String(), intervalMs: r.Int(), longestMs: r.Int(), seenMs: r.Int(), lastEnd: r.Int(), samples: r.Uint(), missing: r.Uint(), late: r.Uint()}
		for _, t := range m.tellings() {
			r.telling(t)
		}
		m.refused = r.tallies()
		h.metrics = append(h.metrics, m)
	}
	h.drops = r.tallies()
}

func (r *reader) tallies() (all []tally) {
	for range r.Count() {
		t := tally{reason: r.String(), n: r.Uint()}
		r.telling(&t.told)
		if !r.demand(len(all) == 0 || all[len(all)-1].reason < t.reason, "reasons are out of order") {
			return nil
		}
		all = append(all, t)
	}
	return all
}

func (r *reader) telling(t *telling) {
	t.hasRef, t.ref = r.Bool(), slice.Ref(r.Uint32())
	t.live, t.lastEnd = r.Bool(), r.Int()
}
