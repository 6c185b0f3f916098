package dashboard

import (
	"strconv"
	"strings"
)

// latencyLimit is the limit of the filter latency in production, in seconds.
const latencyLimit = 0.2

// stealLimit is the share of a machine's CPU time above which steal deserves attention. The page's CPU figure uses the
// same limit.
const stealLimit = 0.05

// sampledNote is appended to the description of each figure that Storm estimates from a sample of the tuples.
const sampledNote = " Storm estimates this from a sample of the tuples, unless topology.stats.sample.rate is 1."

// All workers on a host report the same host metrics. The maximum over the workers counts each host once.
const (
	hostTime    = `sum by (worker, host) (rate(bullet_host_cpu_seconds_total{topology="$topology"}[$__rate_interval]))`
	hostBusy    = `sum by (worker, host) (rate(bullet_host_cpu_seconds_total{topology="$topology",mode!~"idle|iowait"}[$__rate_interval]))`
	hostStolen  = `sum by (worker, host) (rate(bullet_host_cpu_seconds_total{topology="$topology",mode="steal"}[$__rate_interval]))`
	hostShare   = "max by (host) (" + hostBusy + " / " + hostTime + ")"
	stealShare  = "max by (host) (" + hostStolen + " / " + hostTime + ")"
	workersCPU  = `sum by (host) (sum by (worker) (rate(bullet_worker_cpu_seconds_total{topology="$topology"}[$__rate_interval])) * on (worker) group_left (host) (bullet_host_cpu_cores{topology="$topology"} / bullet_host_cpu_cores{topology="$topology"}))`
	workerShare = workersCPU + ` / max by (host) (bullet_host_cpu_cores{topology="$topology"})`
)

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func one(expr, legend string) []Query { return []Query{{expr, legend}} }

// each returns a query with one line per combination of the labels by, which are also the legend. Aggregations always
// name their labels, so that a new label in a later plugin does not split a line.
func each(aggregation, by, of string) []Query {
	return one(aggregation+" by ("+by+") ("+of+")", "{{"+strings.ReplaceAll(by, ", ", "}} {{")+"}}")
}

// rate returns the per-second rate of a counter. Grafana chooses the interval with the help of $reporting.
func rate(of string) string { return "rate(" + of + "[$__rate_interval])" }

// workers returns the panel with the number of reporting workers. A mean over workers is only meaningful together with
// this number.
func workers() Panel {
	return Panel{Kind: Number, Title: "Workers", Unit: Count, Width: 3,
		Description: "Number of reporting workers. More and smaller workers lower the mean, but not the total cost.",
		Queries:     one(`count(count by (worker) (bullet_worker_heap_used_bytes{topology="$topology"}))`, "workers")}
}

// meanAndTotal returns a panel with the mean and the sum of a metric over all workers.
func meanAndTotal(title, description string, unit Unit, byWorker string) Panel {
	return Panel{Kind: Lines, Title: title, Description: description, Unit: unit, Width: 7, Queries: []Query{
		{"avg(" + byWorker + ")", "mean per worker"},
		{"sum(" + byWorker + ")", "all workers"},
	}}
}

// quantiles returns queries for the quantiles of a histogram.
func quantiles(of string) (all []Query) {
	for _, q := range []struct{ q, name string }{{"0.5", "p50"}, {"0.9", "p90"}, {"0.99", "p99"}, {"0.999", "p99.9"}} {
		all = append(all, Query{"histogram_quantile(" + q.q + ", " + of + ")", q.name})
	}
	return all
}

// native returns the quantiles of a native histogram over the topology.
func native(metric string) []Query { return quantiles("sum(" + rate(metric+ofTopology) + ")") }

// classic returns the quantiles of a histogram with classic buckets.
func classic(metric string) []Query { return quantiles("sum by (le) (" + rate(metric+"_bucket") + ")") }
