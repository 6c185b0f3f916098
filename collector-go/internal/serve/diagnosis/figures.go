package diagnosis

import (
	"fmt"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/busy"
)

// figure is a metric that is checked for changes.
type figure struct {
	name string
	// key is the key of the page's figure that shows it.
	key  string
	unit string
	// expression is PromQL. {} stands for the topology's matcher, and BUSY for the busy share of each task. Each
	// resulting series is checked.
	expression string
	// least is the smallest change that matters, in the figure's unit. A smaller one is noise to a reader.
	least float64
	// advice is what usually helps if the value rises, with the names of settings; "" if there is no general advice.
	advice string
}

// rateWindow covers two slices of a metric that comes once a minute.
const rateWindow = 150 * time.Second

// cpuOfAll uses a short window if the metric comes every ten seconds, so that a fall of the CPU time is not found only
// after the alert that it caused.
const cpuOfAll = "sum(rate(bullet_worker_cpu_seconds_total{}[40s]) or rate(bullet_worker_cpu_seconds_total{}[W]))"

// ownComponents excludes Storm's own components.
const ownComponents = `component!~"__.*"`

// figures are sorted in the order in which queries and records pass through the topology.
var figures = []figure{
	{nameArriving, "records", "records/s", "sum(rate(bullet_source_records_total{}[W]))", 1,
		"Raise bullet.topology.filter.bolt.parallelism, or read a smaller sample of the records"},
	{nameLag, "lag", "records", "sum(bullet_source_lag_records{})", 100,
		"Check the load of the spouts and of the filter bolts"},
	{"running queries", "queries", "queries", "max(sum by (component) (bullet_active_queries{}))", 1,
		"Raise bullet.topology.filter.bolt.parallelism, or limit the queries (bullet.query.max.concurrency)"},
	{"filter latency (mean of the slowest task)", "latency", "s", "max(bullet_filter_latency_mean_seconds{})", 0.005,
		""},
	{"filter latency (p99)", "latency", "s", "histogram_quantile(0.99, sum(rate(bullet_filter_latency_seconds{}[W])))",
		0.005, ""},
	{"query latency (p99)", "", "s",
		"histogram_quantile(0.99, sum by (class) (rate(bullet_query_latency_seconds{}[W])))", 0.05, ""},
	{"completeness of results (lowest class)", "", "ratio", "min(bullet_query_result_completeness_ratio{})", 0.01, ""},
	{"busy share of the busiest task", "busy", "ratio", "max by (component) (BUSY)", 0.1,
		"A task near 100% has no spare capacity: raise the component's parallelism"},
	{"receive queue of the fullest task", "queue", "ratio",
		"max by (component) (storm_receive_queue_full_ratio{COMPONENT})", 0.1,
		"The component receives more tuples than it can process: raise its parallelism"},
	{nameWait, "queue", "s",
		"max by (component) (max_over_time(storm_receive_queue_sojourn_seconds{COMPONENT}[W]))", 0.02,
		"Tuples wait for a busy task or for CPU: check the CPU of the workers, then raise the component's parallelism"},
	{"failed tuples", "", "tuples/s", "sum(rate(storm_failed_total{}[W]))", 0.1,
		"Tuples may time out: find the slow component, or raise topology.message.timeout.secs"},
	{nameCPU, "cpu", "cores", cpuOfAll, 0.1, ""},
	{"CPU of the busiest worker", "cpu", "cores", "max(sum by (worker) (rate(bullet_worker_cpu_seconds_total{}[W])))",
		0.1, ""},
	{"time in garbage collection pauses (worst worker)", "gc", "ratio",
		"max(sum by (worker) (rate(bullet_worker_gc_seconds_total{}[W])))", 0.02,
		"Give the workers a larger heap, or run fewer queries with windows"},
	{"heap usage (worst worker)", "heap", "ratio",
		"max(bullet_worker_heap_used_bytes{} / bullet_worker_heap_limit_bytes{})", 0.05,
		"Give the workers a larger heap, or run fewer queries per worker"},
	{nameReporting, "workers", "workers",
		"count(count by (worker) (present_over_time(bullet_worker_heap_used_bytes{}[2m])))", 1, ""},
	{nameRestarts, "workers", "restarts", "sum(bullet_worker_restarts_total{})", 1,
		"Read the workers' logs; the most frequent reason is lack of memory"},
}

// ask returns the figure's PromQL for a topology.
func (f figure) ask(topology string) string {
	matcher := ""
	if topology != "" {
		matcher = fmt.Sprintf("topology=%q", topology)
	}
	own, window := strings.TrimPrefix(matcher+","+ownComponents, ","), rateWindow.String()
	return strings.NewReplacer("BUSY", busy.Query(matcher, ownComponents, window), "{COMPONENT}", "{"+own+"}",
		"{}", "{"+matcher+"}", "[W]", "["+window+"]").Replace(f.expression)
}
