package dashboard

import "strings"

// runs is the board to watch during an experiment: load, goals, cost, and limiting resource.
var runs = Board{
	Name: "runs", Title: "Bullet: tuning runs",
	Description: "A running experiment: load, goals, cost and limiting resource. Shaded regions are experiment steps.",
	Variables:   []Variable{topology, reporting},
	Rows: []Row{
		{"What is the load?", []Panel{
			{Kind: Lines, Title: "Queries sent, by class", Unit: Rate, Width: 8, Queries: each("sum", "class", rate("bullet_query_outcomes_total"+ofTopology)),
				Description: "Queries per second that the load client or the canary sent, with any outcome. The title of a step has the number of running queries."},
			{Kind: Lines, Title: "Records read", Unit: Rate, Width: 8, Queries: one("sum("+rate("bullet_source_records_total"+ofTopology)+")", "records"),
				Description: "Records per second from the data source."},
			{Kind: Lines, Title: "Bytes read", Unit: BytesRate, Width: 8, Queries: one("sum("+rate("bullet_source_bytes_total"+ofTopology)+")", "bytes"),
				Description: "Bytes per second from the data source."},
		}},
		{"Are the goals met?", []Panel{
			{Kind: Lines, Title: "Filter latency: Bullet's mean", Unit: Seconds, Width: 12, Limit: latencyLimit,
				Queries:     one(`max(bullet_filter_latency_mean_seconds{topology="$topology"})`, "largest mean"),
				Description: "Largest mean that a task reports. The line is the goal of 200 ms."},
			{Kind: Lines, Title: "Records above 200 ms", Unit: Share, Width: 12, Limit: 0.01,
				Queries:     one(`1 - histogram_fraction(0, 0.2, sum(rate(bullet_filter_latency_seconds{topology="$topology"}[$__rate_interval])))`, "above 200 ms"),
				Description: "Share of records that were filtered more than 200 ms after their timestamp. Above 1% (line), the p99 misses the goal of 200 ms. Empty without the latency hook."},
			{Kind: Lines, Title: "Completeness of results, by class", Unit: Share, Width: 8, Queries: each("avg", "class", "bullet_query_result_completeness_ratio"+ofTopology),
				Description: "Mean share of the expected records that results contain."},
			{Kind: Number, Title: "Classes measured", Unit: Count, Queries: one(`count(count by (class) (bullet_query_result_completeness_ratio{topology="$topology"}))`, "classes"),
				Description: "Number of query classes with results. The means are based on them."},
			{Kind: Lines, Title: "Query latency: p99, by class", Unit: Seconds,
				Queries:     one(`histogram_quantile(0.99, sum by (class) (rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}"),
				Description: "99th percentile, from the planned start of a query to its result."},
			{Kind: Lines, Title: "Growth of the source lag", Unit: Rate, Width: 16, Queries: one(`sum(deriv(bullet_source_lag_records{topology="$topology"}[$__rate_interval]))`, "growth of the lag"),
				Description: "Change of the source lag in records per second. Below zero, the topology catches up."},
			{Kind: Number, Title: "All queries measured", Unit: Rate, Width: 8,
				Queries:     one(`sum(histogram_count(rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "queries"),
				Description: "Measured queries per second of all classes."},
		}},
		{"What is the cost?", []Panel{
			{Kind: Lines, Title: "CPU of all workers", Unit: Cores, Width: 8, Queries: one("sum("+allCPU+")", "all workers"),
				Description: "CPU seconds per second of all workers: the cost of the topology."},
			{Kind: Lines, Title: "CPU per query", Unit: CoresAWork, Width: 8,
				Queries:     one("sum("+allCPU+`) / (sum(bullet_active_queries{topology="$topology",component="JoinBolt"}) > 0)`, "per query"),
				Description: "Total CPU divided by running queries. It includes the baseline, so it approaches the marginal cost as the number of queries grows."},
			{Kind: Lines, Title: "Heap of all workers", Unit: Bytes, Width: 8, Queries: one("sum("+allHeap+")", "in use"),
				Description: "Heap in use, over all workers."},
		}},
		{"What is the limiting resource?", []Panel{
			{Kind: Lines, Title: "Capacity", Unit: Share, Width: 8, Limit: 1,
				Queries:     one("max by (component) ("+strings.ReplaceAll(capacity, chosen, ofTopology)+")", "{{component}}"),
				Description: "Share of time that a bolt's busiest task spends in execute(). At 100% (line), the bolt is the limit." + sampledNote},
			{Kind: Lines, Title: "Spouts throttled", Unit: Share, Width: 8, Queries: each("max", "reason", rate("storm_skipped_seconds_total"+ofTopology)),
				Description: "Share of time for which the most throttled spout task was not called, by reason."},
			{Kind: Lines, Title: "Garbage collection pauses, worst worker", Unit: Share, Width: 8, Queries: one("max("+allGC+")", "worst worker"),
				Description: "Largest share of time that a worker spends in garbage collection pauses."},
		}},
		{"What is running?", []Panel{
			{Kind: Table, Title: "Topology", Unit: None, Height: 5,
				Queries:     one(`bullet_topology_info{topology="$topology"}`, ""),
				Columns:     map[string]string{"Time": "", "Value": "", "__name__": "", "topology": "Topology", "topology_id": "Run", "storm_version": "Storm", "bullet_version": "Bullet", "java_version": "Java", "plugin_version": "Plugin"},
				Description: "Run and software versions at the end of the time range."},
			{Kind: Table, Title: "Workers", Unit: None,
				Queries:     one(`bullet_worker_info{topology="$topology"}`, ""),
				Columns:     map[string]string{"Time": "", "Value": "", "__name__": "", "topology": "", "worker": "Worker", "host": "Host", "pid": "Process"},
				Description: "Worker processes at the end of the time range."},
		}},
	},
}
