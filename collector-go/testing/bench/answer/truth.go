// Package answer is what servers should answer about rows that were sent, worked out from the rows themselves, and how
// an answer is compared with it value by value. It is pure: it knows no server.
package answer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// Truth is rows as they were sent, each its own slice.
type Truth struct {
	StartMs, StepMs int64
	Hosts, Steps    int

	first []float64   // of the first metric, host by host
	means [][]float64 // by metric and step, over the hosts
}

// NewTruth walks rows again.
func NewTruth(rows *bench.Rows, startMs, stepMs int64, steps int) *Truth {
	t := &Truth{StartMs: startMs, StepMs: stepMs, Hosts: rows.Hosts, Steps: steps,
		first: make([]float64, rows.Hosts*steps), means: make([][]float64, rows.Metrics)}
	hosts := make([]int, rows.Hosts)
	for h := range hosts {
		hosts[h] = h
	}
	walk := rows.Walk(hosts)
	for m := range t.means {
		t.means[m] = make([]float64, steps)
	}
	for step := range steps {
		walk.Next()
		for h := range hosts {
			values := walk.Values[h*rows.Metrics : (h+1)*rows.Metrics]
			t.first[h*steps+step] = values[0]
			for m, v := range values {
				t.means[m][step] += v / float64(rows.Hosts)
			}
		}
	}
	return t
}

// step is the place of a time among the steps; false where no row is of it.
func (t *Truth) step(ms int64) (int, bool) {
	n := int((ms - t.StartMs) / t.StepMs)
	return n, (ms-t.StartMs)%t.StepMs == 0 && n >= 0 && n < t.Steps
}

// within is the steps after fromMs up to toMs.
func (t *Truth) within(fromMs, toMs int64) (first, last int) {
	first = max(0, int(math.Floor(float64(fromMs-t.StartMs)/float64(t.StepMs)))+1)
	return first, min(t.Steps, int(math.Floor(float64(toMs-t.StartMs)/float64(t.StepMs)))+1)
}

// Question is what is asked of servers, and what they should answer.
type Question struct {
	// Name is how results name it, What how people do.
	Name, What string
	// Ours and Peers are the expressions, for our names and those of peers.
	Ours, Peers string
	StepMs      int64
	// series is how many answer, want the value of one of them at a time.
	series func(*Truth) int
	want   func(t *Truth, series int, ms int64) (float64, bool)
	number func(labels map[string]string) (int, error)
}

// Questions are those of a day of workers' rows.
func Questions(topology string, widthMs int64) []Question {
	ours, theirs := fmt.Sprintf("%s{topology=%q}", bench.StoredName(0), topology),
		strings.ReplaceAll(bench.Field(0), ".", "_")
	oneOfOurs, oneOfTheirs := fmt.Sprintf("%s{topology=%q, worker=\"host_0:6700\"}", bench.StoredName(0), topology),
		theirs+`{hostname="host_0"}`
	one := func(*Truth) int { return 1 }
	hosts := func(t *Truth) int { return t.Hosts }
	whole := func(map[string]string) (int, error) { return 0, nil }
	return []Question{
		{"mean", "average by topology, every 5 minutes", fmt.Sprintf("avg by (topology) (%s)", ours),
			fmt.Sprintf("avg(%s)", theirs), 300_000, one, (*Truth).mean, whole},
		{"average", "average over 5 minutes, by topology", fmt.Sprintf("avg by (topology) (avg_over_time(%s[5m]))",
			ours), fmt.Sprintf("avg(avg_over_time(%s[5m]))", theirs), 300_000,
			one, (*Truth).average, whole},
		{"greatest", "maximum of an hour, by worker", fmt.Sprintf("max by (worker) (max_over_time(%s[1h]))", ours),
			fmt.Sprintf("max by (hostname) (max_over_time(%s[1h]))", theirs), 3_600_000,
			hosts, (*Truth).greatest, host},
		{"raw", "every value of every worker", ours, theirs, widthMs, hosts, (*Truth).value, host},
		{"all", "average of each of the ten metrics, every 5 minutes",
			fmt.Sprintf("avg by (__name__) ({__name__=~\"storm_cpu_usage_.+\", topology=%q})", topology),
			`avg by (__name__) ({__name__=~"cpu_usage_.+"})`, 300_000, func(t *Truth) int { return len(t.means) },
			(*Truth).mean, metric},
		{"quantile", "p99 of all workers, every minute", fmt.Sprintf("quantile by (topology) (0.99, %s)", ours),
			fmt.Sprintf("quantile(0.99, %s)", theirs), 60_000, one, (*Truth).quantile, whole},
		{"top", "sum of the five highest, every 5 minutes", fmt.Sprintf("sum by (topology) (topk(%d, %s))", top, ours),
			fmt.Sprintf("sum(topk(%d, %s))", top, theirs), 300_000, one, (*Truth).top, whole},
		{Panel, "one worker, every 10 s", oneOfOurs, oneOfTheirs, widthMs, one, (*Truth).value, whole},
	}
}

// Panel is the question of a panel that shows one worker.
const Panel = "panel"

// top is how many values are the highest.
const top = 5

// sorted is what all hosts had at a time, the least first.
func (t *Truth) sorted(ms int64) (all []float64, is bool) {
	step, is := t.step(ms)
	for h := 0; is && h < t.Hosts; h++ {
		all = append(all, t.first[h*t.Steps+step])
	}
	slices.Sort(all)
	return all, is
}

// quantile is p99 as Prometheus interpolates it.
func (t *Truth) quantile(_ int, ms int64) (float64, bool) {
	all, is := t.sorted(ms)
	if !is {
		return 0, false
	}
	whole, part := math.Modf(0.99 * float64(len(all)-1))
	below := int(whole)
	return all[below]*(1-part) + all[min(below+1, len(all)-1)]*part, true
}

func (t *Truth) top(_ int, ms int64) (sum float64, is bool) {
	all, is := t.sorted(ms)
	for _, v := range all[max(0, len(all)-top):] {
		sum += v
	}
	return sum, is
}

func (t *Truth) average(_ int, ms int64) (float64, bool) {
	from, to := t.within(ms-300_000, ms)
	sum := 0.0
	for step := from; step < to; step++ {
		sum += t.means[0][step]
	}
	return sum / float64(to-from), to > from
}

func (t *Truth) greatest(host int, ms int64) (float64, bool) {
	from, to := t.within(ms-3_600_000, ms)
	most := math.Inf(-1)
	for _, v := range t.first[host*t.Steps+from : host*t.Steps+to] {
		most = max(most, v)
	}
	return most, to > from
}

func (t *Truth) value(host int, ms int64) (float64, bool) {
	step, is := t.step(ms)
	if !is {
		return 0, false
	}
	return t.first[host*t.Steps+step], true
}

func (t *Truth) mean(metric int, ms int64) (float64, bool) {
	step, is := t.step(ms)
	if !is {
		return 0, false
	}
	return t.means[metric][step], true
}

// host is the number of the host that a series is of.
func host(labels map[string]string) (int, error) {
	name := labels["hostname"] + labels["worker"]
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "host_"), ":")
	return strconv.Atoi(name)
}

// metric is the number of the metric that a series is of.
func metric(labels map[string]string) (int, error) {
	name := strings.TrimPrefix(labels["__name__"], "storm_")
	for m := range 10 {
		if strings.ReplaceAll(bench.Field(m), ".", "_") == name {
			return m, nil
		}
	}
	return 0, fmt.Errorf("no metric is called %q", name)
}
