package dashboard

// Selectors of the chosen topology, and of the chosen workers in it.
const (
	ofTopology = `{topology="$topology"}`
	ofWorkers  = `{topology="$topology",worker=~"$worker"}`
)

// latency is the board about latencies, from a record's timestamp to a client's result.
var latency = Board{
	Name: "latency", Title: "Bullet: latency",
	Description: "Latency of records and queries: Bullet's mean, percentiles of the latency hook, measurements of clients, and clock skew.",
	Variables:   []Variable{topology, worker, reporting},
	Rows: []Row{
		{"Is filter latency below 200 ms?", []Panel{
			{Kind: Lines, Title: "Filter latency: Bullet's mean, by worker", Unit: Seconds, Limit: latencyLimit, Queries: each("max", "worker", "bullet_filter_latency_mean_seconds"+ofWorkers),
				Description: "Largest mean that a FilterBolt task reports, from a record's timestamp until it is filtered. The line is the 200 ms limit of BulletFilterLatencyMeanHigh."},
			{Kind: Lines, Title: "Filter latency: percentiles", Unit: Seconds, Limit: latencyLimit, Queries: native("bullet_filter_latency_seconds"),
				Description: "Percentiles of the latency hook over all records of all tasks. The line is the 200 ms limit of BulletFilterLatencyP99High, which uses the p99."},
			{Kind: Number, Title: "Records above 200 ms", Unit: Share, Width: 12, Height: 5, Limit: 0.01,
				Queries:     one(`1 - histogram_fraction(0, 0.2, sum(rate(bullet_filter_latency_seconds{topology="$topology"}[$__rate_interval])))`, "above 200 ms"),
				Description: "Share of records that were filtered more than 200 ms after their timestamp. Above 1% (red), the p99 exceeds its limit."},
			{Kind: Number, Title: "Workers", Unit: Count, Width: 12, Height: 5, Queries: one(`count(count by (worker) (bullet_worker_heap_used_bytes{topology="$topology"}))`, "workers"),
				Description: "Number of reporting workers."},
		}},
		{"What do clients measure?", []Panel{
			{Kind: Lines, Title: "Query latency: p99, by class", Unit: Seconds,
				Queries:     one(`histogram_quantile(0.99, sum by (class) (rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}"),
				Description: "99th percentile per class, from the planned start of a query to its result, measured by the canary or a load client. It includes the query's own duration, so compare each class only with itself."},
			{Kind: Lines, Title: "Query latency: p50, by class", Unit: Seconds,
				Queries:     one(`histogram_quantile(0.5, sum by (class) (rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}"),
				Description: "Median of the same latency."},
			{Kind: Lines, Title: "Completeness of results, by class", Unit: Share, Queries: each("avg", "class", "bullet_query_result_completeness_ratio"+ofTopology),
				Description: "Records in results divided by the expected records. Below 100%, records were lost or late."},
			{Kind: Lines, Title: "Queries measured, by class", Unit: Rate,
				Queries:     one(`sum by (class) (histogram_count(rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}"),
				Description: "Measured queries per second. The percentiles and means of this row are based on them."},
			{Kind: Number, Title: "Classes measured", Unit: Count, Width: 6, Height: 5,
				Queries:     one(`count(count by (class) (bullet_query_result_completeness_ratio{topology="$topology"}))`, "classes"),
				Description: "Number of query classes with results. The means of completeness are based on them."},
			{Kind: Lines, Title: "Queries without an answer, by class", Unit: Rate, Height: 5,
				Queries:     each("sum", "class, outcome", rate(`bullet_query_outcomes_total{topology="$topology",outcome!="returned"}`)),
				Description: "Queries per second that failed, timed out, or could not be sent in time (missed). Failed queries are not part of the latency."},
			{Kind: Number, Title: "All queries measured", Unit: Rate, Width: 6, Height: 5,
				Queries:     one(`sum(histogram_count(rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "queries"),
				Description: "Measured queries per second of all classes."},
		}},
		{"How long does the engine take?", []Panel{
			{Kind: Lines, Title: "Engine latency: percentiles", Unit: Seconds, Width: 8, Queries: native("bullet_query_engine_latency_seconds"),
				Description: "From the arrival of a query at JoinBolt until its result is sent, measured by the latency hook."},
			{Kind: Lines, Title: "Latency from a query's creation: percentiles", Unit: Seconds, Width: 8, Queries: native("bullet_query_created_latency_seconds"),
				Description: "From the creation of a query in the web service or in Storm's DRPC until its result is sent. The difference to the engine latency is the time on the way to the topology."},
			{Kind: Lines, Title: "Time to the first result: percentiles", Unit: Seconds, Width: 8, Queries: native("bullet_query_first_result_latency_seconds"),
				Description: "From the arrival of a query at JoinBolt until its first window or result is sent."},
		}},
		{"How are latencies distributed?", []Panel{
			{Kind: Heatmap, Title: "Filter latency", Unit: Seconds, Queries: one("sum("+rate("bullet_filter_latency_seconds"+ofTopology)+")", "{{le}}"),
				Description: "Records per second by latency, over all tasks. Two peaks usually mean two causes."},
			{Kind: Heatmap, Title: "Query latency", Unit: Seconds, Queries: one("sum("+rate("bullet_query_latency_seconds"+ofTopology)+")", "{{le}}"),
				Description: "Queries per second by latency as clients measure it, over all classes."},
		}},
		{"Which task is slow?", []Panel{
			{Kind: Table, Title: "Tasks with the largest mean", Unit: Seconds, Limit: latencyLimit,
				Queries:     one(`topk(10, bullet_filter_latency_mean_seconds{topology="$topology",worker=~"$worker"})`, ""),
				Columns:     map[string]string{"Time": "", "__name__": "", "topology": "", "Value": "Mean filter latency"},
				Description: "The ten tasks with the largest mean filter latency at the end of the time range."},
		}},
		{"Are the clocks correct?", []Panel{
			{Kind: Lines, Title: "Clock skew", Unit: Seconds, Width: 8, Queries: each("max", "worker", "bullet_metrics_collection_skew_seconds"+ofWorkers),
				Description: "Proven difference between a worker's clock and the collector's; positive if the worker's clock is ahead, 0 if it may be correct. Latencies between hosts are wrong by the difference of their clocks."},
			{Kind: Lines, Title: "Negative latencies", Unit: Rate, Width: 8,
				Description: "Records and queries per second with a negative latency, which clock skew causes. They are not part of any percentile.", Queries: []Query{
					{"sum(" + rate("bullet_filter_latency_negative_total"+ofTopology) + ")", "records"},
					{"sum(" + rate("bullet_query_engine_latency_negative_total"+ofTopology) + ")", "queries"}}},
			{Kind: Lines, Title: "Queries not measured by the hook", Unit: Rate, Width: 8, Queries: each("sum", "reason", rate("bullet_latency_hook_left_out_total"+ofTopology)),
				Description: "Queries per second that the latency hook could not measure, by reason."},
		}},
	},
}
