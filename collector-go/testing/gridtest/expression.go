package gridtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Spec is what expressions are made of.
type Spec struct {
	FirstMs, LastMs int64 // where slices are
	Numbers         []string
	Distributions   []string            // may hold numbers too
	Labels          map[string][]string // values of labels, metric names apart
	LabelNames      []string            // keys of Labels, in an order of their own
	Spans           []Span              // where slices are between FirstMs and LastMs; none: everywhere
	// what is read is nearly always the least or greatest of long windows, often on even minutes
	Extremes bool
}

// Spec describes the world.
func (w *World) Spec() Spec {
	return Spec{
		FirstMs: w.FirstMs, LastMs: w.LastMs, Spans: w.Spans,
		Numbers: []string{gauges, counters}, Distributions: []string{histograms, mixed},
		Labels: map[string][]string{
			"component": {"Filter", "Join", "Spout"}, "worker": {"w0", "w1", "w2", "w3"}, "topology": {"a", "b"},
		},
		LabelNames: []string{"component", "worker", "topology"},
	}
}

// expressions invents PromQL of a spec. Every expression is valid; some answer nothing.
type expressions struct {
	Spec
	*rand.Rand
	isRange bool // for a range query: functions that sort are left out, which it refuses to mean anything by
}

func (e *expressions) pick(of ...string) string { return of[e.IntN(len(of))] }

// vector is an instant vector in which depth further ones may lie.
func (e *expressions) vector(depth int) string {
	if depth <= 0 {
		return e.leaf()
	}
	switch e.IntN(14) {
	case 0, 1, 2:
		return e.aggregation(depth - 1)
	case 3, 4:
		return e.binary(depth - 1)
	case 5:
		return e.subquery(depth - 1)
	case 6:
		return fmt.Sprintf("%s(%s)", e.pick("abs", "ceil", "floor", "exp", "ln", "log2", "sqrt", "sgn", "round", "-",
			"atan", "deg", "minute", "hour", "day_of_week"), e.vector(depth-1))
	case 7:
		return fmt.Sprintf("%s(%s, %d)", e.pick("clamp_min", "clamp_max", "round"), e.vector(depth-1), 1+e.IntN(100))
	case 8:
		return fmt.Sprintf("timestamp(%s)", e.vector(depth-1))
	case 9:
		return e.relabelled(depth - 1)
	case 10:
		return e.pick(fmt.Sprintf("absent(%s)", e.vector(depth-1)),
			fmt.Sprintf("vector(scalar(%s))", e.vector(depth-1)), "vector(time())",
			fmt.Sprintf("absent_over_time(%s)", e.ranged(e.metric())))
	case 11:
		if !e.isRange {
			return fmt.Sprintf("%s(%s)", e.pick("sort", "sort_desc"), e.vector(depth-1))
		}
		fallthrough
	default:
		return e.ofDistributions(depth - 1)
	}
}

// leaf reads the store.
func (e *expressions) leaf() string {
	if e.Extremes && e.IntN(8) > 0 {
		return fmt.Sprintf("%s(%s[%s]%s)", e.pick("min_over_time", "max_over_time"),
			e.matched(e.pick(e.metric(), e.pick(e.Numbers...))),
			e.pick("61m", "90m", "2h", "2h", "3h", "4h", "4h", "7h", "5437s"),
			e.pick("", "", "", e.shift(), " offset 5m", " offset 1h"))
	}
	switch e.IntN(9) {
	case 0, 1, 2:
		return e.selector(e.metric())
	case 8:
		return fmt.Sprintf("%s(%s)", e.pick("min_over_time", "max_over_time"), e.ranged(e.metric()))
	case 3, 4:
		return fmt.Sprintf("%s(%s)", e.pick("rate", "increase", "irate", "resets", "rate"), e.ranged(e.metric()))
	case 5:
		if e.IntN(4) == 0 { // of numbers alone: an empty bucket more or less is a change too
			return fmt.Sprintf("changes(%s)", e.ranged(e.pick(e.Numbers...)))
		}
		return fmt.Sprintf("%s(%s)", e.pick("delta", "idelta", "deriv"), e.ranged(e.metric()))
	case 6:
		return fmt.Sprintf("%s(%s)", e.pick("avg_over_time", "min_over_time", "max_over_time", "sum_over_time",
			"count_over_time", "stddev_over_time", "stdvar_over_time", "last_over_time", "present_over_time"),
			e.ranged(e.metric()))
	}
	return e.pick(
		fmt.Sprintf("quantile_over_time(0.%d, %s)", 1+e.IntN(9), e.ranged(e.metric())),
		fmt.Sprintf("predict_linear(%s, %d)", e.ranged(e.metric()), e.IntN(600)),
		fmt.Sprintf("timestamp(%s)", e.selector(e.metric())),
	)
}

func (e *expressions) metric() string {
	return e.pick(append(append([]string(nil), e.Numbers...), e.Distributions...)...)
}

// matched is a metric with matchers.
func (e *expressions) matched(metric string) string {
	var matchers []string
	// One a label: Prometheus' store sorts a selector's matchers where they lie, and absent() takes its labels from the
	// last of each.
	for _, i := range e.Perm(len(e.LabelNames))[:e.IntN(min(3, len(e.LabelNames)))] {
		name := e.LabelNames[i]
		one, other := e.pick(e.Labels[name]...), e.pick(e.Labels[name]...)
		matchers = append(matchers, e.pick(
			fmt.Sprintf("%s=%q", name, one), fmt.Sprintf("%s!=%q", name, one),
			fmt.Sprintf("%s=~%q", name, one+"|"+other), fmt.Sprintf("%s!~%q", name, one[:1]+".*"+one[1:]),
			fmt.Sprintf("%s=~\".+\"", name)))
	}
	if e.IntN(25) == 0 {
		return fmt.Sprintf("{__name__=~%q%s}", metric+"|"+e.metric(),
			strings.Join(append([]string{""}, matchers...), ","))
	}
	if len(matchers) == 0 {
		return metric
	}
	return metric + "{" + strings.Join(matchers, ",") + "}"
}

func (e *expressions) selector(metric string) string { return e.matched(metric) + e.shift() }

func (e *expressions) ranged(metric string) string {
	return fmt.Sprintf("%s[%s]%s", e.matched(metric), e.duration(), e.shift())
}

func (e *expressions) duration() string {
	if len(e.Spans) > 0 && e.IntN(30) == 0 { // as long ago as there are slices
		return e.pick("1d", "3d", "7d", "30d")
	}
	return e.pick("10s", "17s", "30s", "1m", "1m", "90s", "3m", "5m", "5m", "10m", "23m", "1h", "4h")
}

// around is a time in which slices are.
func (e *expressions) around() Span {
	if len(e.Spans) == 0 {
		return Span{FirstMs: e.FirstMs, LastMs: e.LastMs}
	}
	return e.Spans[e.IntN(len(e.Spans))]
}

// shift is offset and @, where there are any.
func (e *expressions) shift() string {
	at := func() string {
		in := e.around()
		return e.pick(fmt.Sprintf(" @ %d.%03d", (in.FirstMs+e.Int64N(in.LastMs-in.FirstMs))/1000, e.IntN(1000)),
			" @ start()", " @ end()")
	}
	switch e.IntN(16) {
	case 0:
		return " offset " + e.duration()
	case 1:
		return " offset -" + e.duration()
	case 2:
		return at()
	case 3:
		return at() + " offset " + e.duration()
	}
	return ""
}

func (e *expressions) subquery(depth int) string {
	step := e.pick("", "10s", "15s", "37s", "1m", "5m")
	return fmt.Sprintf("%s((%s)[%s:%s]%s)",
		e.pick("max_over_time", "min_over_time", "avg_over_time", "sum_over_time", "count_over_time", "rate", "delta",
			"last_over_time", "deriv"),
		e.vector(min(depth, 1)), e.pick("1m", "3m", "5m", "10m"), step, e.shift())
}

func (e *expressions) aggregation(depth int) string {
	by := ""
	if e.IntN(4) > 0 {
		by = fmt.Sprintf(" %s (%s)", e.pick("by", "without"),
			strings.Join(e.LabelNames[:e.IntN(len(e.LabelNames))+1], ", "))
	}
	of := e.vector(depth)
	switch e.IntN(10) {
	case 0:
		return fmt.Sprintf("%s%s (%d, %s)", e.pick("topk", "bottomk"), by, 1+e.IntN(4), of)
	case 1:
		return fmt.Sprintf("quantile%s (0.%d, %s)", by, 1+e.IntN(9), of)
	case 2:
		return fmt.Sprintf("count_values%s (\"value\", %s)", by, of)
	}
	return fmt.Sprintf("%s%s (%s)", e.pick("sum", "sum", "avg", "min", "max", "count", "stddev", "stdvar", "group"),
		by, of)
}

func (e *expressions) binary(depth int) string {
	arithmetic := e.pick("+", "-", "*", "/", "%", "^", "atan2")
	comparison := e.pick("==", "!=", ">", "<", ">=", "<=")
	switch e.IntN(6) {
	case 0:
		return fmt.Sprintf("(%s) %s %d", e.vector(depth), e.pick(arithmetic, comparison), e.IntN(2000))
	case 1:
		return fmt.Sprintf("(%s) %s bool (%s)", e.vector(depth), comparison, e.vector(depth))
	case 2:
		return fmt.Sprintf("(%s) %s (%s)", e.vector(depth), e.pick("and", "or", "unless"), e.vector(depth))
	case 3:
		return fmt.Sprintf("(%s) %s on (worker, component) (%s)", e.vector(depth), arithmetic, e.vector(depth))
	case 4:
		return fmt.Sprintf("(%s) %s ignoring (worker) group_left () (sum without (worker) (%s))", e.vector(depth),
			arithmetic, e.vector(depth))
	}
	return fmt.Sprintf("%d %s (%s)", 1+e.IntN(2000), e.pick(arithmetic, comparison), e.vector(depth))
}

func (e *expressions) relabelled(depth int) string {
	if e.IntN(2) == 0 {
		return fmt.Sprintf("label_replace(%s, \"short\", \"$1\", %q, \"(.).*\")", e.vector(depth),
			e.pick(e.LabelNames...))
	}
	return fmt.Sprintf("label_join(%s, \"both\", \"-\", %q, %q)", e.vector(depth), e.pick(e.LabelNames...),
		e.pick(e.LabelNames...))
}

func (e *expressions) ofDistributions(depth int) string {
	metric := e.pick(e.Distributions...)
	of := e.pick(e.selector(metric), fmt.Sprintf("rate(%s)", e.ranged(metric)),
		fmt.Sprintf("increase(%s)", e.ranged(metric)),
		fmt.Sprintf("sum by (topology) (rate(%s))", e.ranged(metric)), fmt.Sprintf("sum(%s)", e.selector(metric)),
		fmt.Sprintf("avg_over_time(%s)", e.ranged(metric)), fmt.Sprintf("max_over_time(rate(%s)[5m:30s])",
			e.ranged(metric)))
	if depth > 0 && e.IntN(4) == 0 {
		of = e.vector(depth)
	}
	switch e.IntN(3) {
	case 0:
		return fmt.Sprintf("histogram_quantile(0.%d, %s)", 1+e.IntN(99), of)
	case 1:
		return fmt.Sprintf("histogram_fraction(0, 0.%d, %s)", 1+e.IntN(9), of)
	}
	return fmt.Sprintf("%s(%s)", e.pick("histogram_count", "histogram_sum", "histogram_avg", "histogram_stddev",
		"histogram_stdvar"), of)
}

// question is an expression with the times at which it is asked for.
type question struct {
	expr       string
	start, end time.Time
	step       time.Duration // 0: at start alone
}

func (q question) String() string {
	if q.step == 0 {
		return fmt.Sprintf("%s at %d", q.expr, q.start.UnixMilli())
	}
	return fmt.Sprintf("%s from %d to %d every %s", q.expr, q.start.UnixMilli(), q.end.UnixMilli(), q.step)
}

// ask invents a question. Most times are within the world, some at its ends or beyond.
func (e *expressions) ask() question {
	in := e.around()
	lengthMs := in.LastMs - in.FirstMs
	startMs := in.FirstMs - lengthMs/20 + e.Int64N(lengthMs+lengthMs/10)
	switch e.IntN(3) {
	case 0:
		startMs = startMs / 1000 * 1000
	case 1:
		startMs = startMs / 10_000 * 10_000
	}
	e.isRange = e.IntN(3) > 0
	q := question{start: time.UnixMilli(startMs), end: time.UnixMilli(startMs)}
	if e.isRange {
		q.step = []time.Duration{time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 37 * time.Second,
			time.Minute, time.Minute, 3 * time.Minute, 10 * time.Minute, 1234 * time.Millisecond}[e.IntN(10)]
		if len(e.Spans) > 0 && e.IntN(8) == 0 { // over all ages
			q.step = []time.Duration{3 * time.Hour, 12 * time.Hour, 24 * time.Hour, 86_399 * time.Second}[e.IntN(4)]
		}
		q.end = q.start.Add(time.Duration(e.Int64N(40))*q.step + time.Duration(e.Int64N(int64(q.step))))
	}
	depth := e.IntN(4)
	if e.Extremes {
		depth = e.IntN(2)
		evenMs := []int64{1, 10_000, 60_000, 300_000, 300_000, 3_600_000}[e.IntN(6)]
		q.start, q.end = time.UnixMilli(startMs/evenMs*evenMs), time.UnixMilli(startMs/evenMs*evenMs)
		if e.isRange {
			q.step = []time.Duration{time.Minute, 5 * time.Minute, 5 * time.Minute, 7 * time.Minute, 10 * time.Minute,
				time.Hour, 3 * time.Hour, 37 * time.Second}[e.IntN(8)]
			q.end = q.start.Add(time.Duration(e.Int64N(60)) * q.step)
		}
	}
	q.expr = e.vector(depth)
	return q
}
