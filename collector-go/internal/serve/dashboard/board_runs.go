package dashboard

import "strings"

// runs is the board to watch during an experiment: load, goals, cost, and limiting resource.
var runs = Board{
	Name: "runs", Title: "Bullet: tuning runs",
	Description: "A tuning run as it goes: what was offered, whether the goals hold, what it costs and what limits it. The steps are the shaded regions.",
	Variables:   []Variable{topology, reporting},
	Rows: []Row{
		{"What is it offered?", []Panel{
			{Kind: Lines, Title: "Queries asked, by class", Unit: Rate, Width: 8, Queries: each("sum", "class", rate("bullet_query_outcomes_total"+ofTopology)),
				Description: "Queries a second that the load program or the canary asked, however they ended; a step's own title has how many run."},
			{Kind: Lines, Title: "Records read", Unit: Rate, Width: 8, Queries: one("sum("+rate("bullet_source_records_total"+ofTopology)+")", "records"),
				Description: "Records a second from the data source (R/s)."},
			{Kind: Lines, Title: "Bytes read", Unit: BytesRate, Width: 8, Queries: one("sum("+rate("bullet_source_bytes_total"+ofTopology)+")", "bytes"),
				Description: "Bytes a second from the data source (MiB/s)."},
		}},
		{"Do the goals hold?", []Panel{
			{Kind: Lines, Title: "Filter latency: Bullet's mean", Unit: Seconds, Width: 12, Limit: latencyLimit,
				Queries:     one(`max(bullet_filter_latency_mean_seconds{topology="$topology"})`, "largest mean"),
				Description: "The largest mean that a task reports; the line is the goal of 200 ms."},
			{Kind: Lines, Title: "Records above 200 ms", Unit: Share, Width: 12, Limit: 0.01,
				Queries:     one(`1 - histogram_fraction(0, 0.2, sum(rate(bullet_filter_latency_seconds{topology="$topology"}[$__rate_interval])))`, "above 200 ms"),
				Description: "Share of records that were filtered later than 200 ms after their timestamp; above 1%, the line, the p99 misses the goal of 200 ms. Empty where the hook is off."},
			{Kind: Lines, Title: "Completeness of results, by class", Unit: Share, Width: 8, Queries: each("avg", "class", "bullet_query_result_completeness_ratio"+ofTopology),
				Description: "Mean of records in results over those that were generated to match."},
			{Kind: Number, Title: "Classes measured", Unit: Count, Queries: one(`count(count by (class) (bullet_query_result_completeness_ratio{topology="$topology"}))`, "classes"),
				Description: "Classes of queries for which there are results: the number behind each mean."},
			{Kind: Lines, Title: "Query latency: p99, by class", Unit: Seconds,
				Queries:     one(`histogram_quantile(0.99, sum by (class) (rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}"),
				Description: "From when a query was meant to start to its result, 99th percentile."},
			{Kind: Lines, Title: "Catching up", Unit: Rate, Width: 16, Queries: one(`sum(deriv(bullet_source_lag_records{topology="$topology"}[$__rate_interval]))`, "growth of the lag"),
				Description: "How fast the records that wait to be read become more (above zero) or fewer, in records a second."},
			{Kind: Number, Title: "All queries measured", Unit: Rate, Width: 8,
				Queries:     one(`sum(histogram_count(rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "queries"),
				Description: "Queries a second of all classes together whose latency was measured."},
		}},
		{"What does it cost?", []Panel{
			{Kind: Lines, Title: "CPU of all workers", Unit: Cores, Width: 8, Queries: one("sum("+allCPU+")", "all workers"),
				Description: "CPU seconds a second of all workers together: what the topology costs."},
			{Kind: Lines, Title: "CPU a query", Unit: CoresAWork, Width: 8,
				Queries:     one("sum("+allCPU+`) / (sum(bullet_active_queries{topology="$topology",component="JoinBolt"}) > 0)`, "a query"),
				Description: "All CPU over queries running: falls towards the marginal cost as queries come, since the baseline is in it."},
			{Kind: Lines, Title: "Heap of all workers", Unit: Bytes, Width: 8, Queries: one("sum("+allHeap+")", "in use"),
				Description: "Heap in use, of all workers together."},
		}},
		{"What limits it?", []Panel{
			{Kind: Lines, Title: "Capacity", Unit: Share, Width: 8, Limit: 1,
				Queries:     one("max by (component) ("+strings.ReplaceAll(capacity, chosen, ofTopology)+")", "{{component}}"),
				Description: "Share of its time that a bolt's busiest task spends executing; at 100%, the line, the bolt is the limit." + sampledNote},
			{Kind: Lines, Title: "Spouts held back", Unit: Share, Width: 8, Queries: each("max", "reason", rate("storm_skipped_seconds_total"+ofTopology)),
				Description: "Seconds a second for which a spout was not asked, of the task that waits most, by reason."},
			{Kind: Lines, Title: "Share of time in collection, worst worker", Unit: Share, Width: 8, Queries: one("max("+allGC+")", "worst worker"),
				Description: "The largest share of time that a worker spends in collections."},
		}},
		{"What runs?", []Panel{
			{Kind: Table, Title: "Topology", Unit: None, Height: 5,
				Queries:     one(`bullet_topology_info{topology="$topology"}`, ""),
				Columns:     map[string]string{"Time": "", "Value": "", "__name__": "", "topology": "Topology", "topology_id": "Run", "storm_version": "Storm", "bullet_version": "Bullet", "java_version": "Java", "plugin_version": "Plugin"},
				Description: "Which run of which software this is, at the end of the time range."},
			{Kind: Table, Title: "Workers", Unit: None,
				Queries:     one(`bullet_worker_info{topology="$topology"}`, ""),
				Columns:     map[string]string{"Time": "", "Value": "", "__name__": "", "topology": "", "worker": "Worker", "host": "Host", "pid": "Process"},
				Description: "The workers' processes at the end of the time range."},
		}},
	},
}
