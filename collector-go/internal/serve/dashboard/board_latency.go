package dashboard

// Selectors of the chosen topology, and of the chosen workers in it.
const (
	ofTopology = `{topology="$topology"}`
	ofWorkers  = `{topology="$topology",worker=~"$worker"}`
)

// latency is the board about latencies, from a record's timestamp to a client's result.
var latency = Board{
	Name: "latency", Title: "Bullet: latency",
	Description: "Latency of records and queries: Bullet's own mean, the hook's histograms, what clients see, and whether the clocks allow any of it.",
	Variables:   []Variable{topology, worker, reporting},
	Rows: []Row{
		{"Is filter latency below 200 ms?", []Panel{
			{Kind: Lines, Title: "Filter latency: Bullet's mean, by worker", Unit: Seconds, Limit: latencyLimit, Queries: each("max", "worker", "bullet_filter_latency_mean_seconds"+ofWorkers),
				Description: "The largest of the means over their interval that FilterBolt's tasks report, from a record's timestamp to its being filtered; the line is the limit of 200 ms. The alert BulletFilterLatencyMeanHigh goes by it."},
			{Kind: Lines, Title: "Filter latency: percentiles", Unit: Seconds, Limit: latencyLimit, Queries: quantiles("bullet_filter_latency_seconds", ofTopology),
				Description: "Percentiles of the latency hook's histogram over all records of all tasks; the line is the limit of 200 ms. The alert BulletFilterLatencyP99High goes by the p99."},
			{Kind: Number, Title: "Records above 200 ms", Unit: Share, Width: 12, Height: 5, Limit: 0.01,
				Queries:     one(`1 - histogram_fraction(0, 0.2, sum(rate(bullet_filter_latency_seconds{topology="$topology"}[$__rate_interval])))`, "above 200 ms"),
				Description: "Share of records that were filtered later than 200 ms after their timestamp; red above 1%, which is where the p99 passes the limit."},
			{Kind: Number, Title: "Workers", Unit: Count, Width: 12, Height: 5, Queries: one(`count(count by (worker) (bullet_worker_heap_used_bytes{topology="$topology"}))`, "workers"),
				Description: "Workers that report."},
		}},
		{"What do clients see?", []Panel{
			{Kind: Lines, Title: "Query latency: p99, by class", Unit: Seconds,
				Queries:     one(`histogram_quantile(0.99, sum by (class) (rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}"),
				Description: "From when the canary or the load program meant to start a query to its result, 99th percentile of each class. A query lasts as long as it asks for: compare a class with itself."},
			{Kind: Lines, Title: "Query latency: p50, by class", Unit: Seconds,
				Queries:     one(`histogram_quantile(0.5, sum by (class) (rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}"),
				Description: "The same, the median."},
			{Kind: Lines, Title: "Completeness of results, by class", Unit: Share, Queries: each("avg", "class", "bullet_query_result_completeness_ratio"+ofTopology),
				Description: "Records in results over those that were generated to match; 100% is all of them, what is below is data lost."},
			{Kind: Lines, Title: "Queries measured, by class", Unit: Rate,
				Queries:     one(`sum by (class) (histogram_count(rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}"),
				Description: "Queries a second whose latency was measured: the number behind the percentiles and means of this row."},
			{Kind: Number, Title: "Classes measured", Unit: Count, Width: 6, Height: 5,
				Queries:     one(`count(count by (class) (bullet_query_result_completeness_ratio{topology="$topology"}))`, "classes"),
				Description: "Classes of queries for which there are results: the number behind each mean of completeness."},
			{Kind: Lines, Title: "Queries without an answer, by class", Unit: Rate, Height: 5,
				Queries:     each("sum", "class, outcome", rate(`bullet_query_outcomes_total{topology="$topology",outcome!="returned"}`)),
				Description: "Queries a second that failed, timed out or could not be asked in time (missed). Those that failed are in no latency: an error comes at any speed."},
			{Kind: Number, Title: "All queries measured", Unit: Rate, Width: 6, Height: 5,
				Queries:     one(`sum(histogram_count(rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "queries"),
				Description: "Queries a second of all classes together."},
		}},
		{"How long does the engine itself take?", []Panel{
			{Kind: Lines, Title: "Engine latency: percentiles", Unit: Seconds, Width: 8, Queries: quantiles("bullet_query_engine_latency_seconds", ofTopology),
				Description: "From a query's being seen by JoinBolt to its result's being sent, as the latency hook measures it."},
			{Kind: Lines, Title: "Latency from a query's creation: percentiles", Unit: Seconds, Width: 8, Queries: quantiles("bullet_query_created_latency_seconds", ofTopology),
				Description: "From when a query was made, by the clock of the web service or of Storm's DRPC, to its result's being sent: what the way to the topology adds to the engine's own."},
			{Kind: Lines, Title: "Time to the first result: percentiles", Unit: Seconds, Width: 8, Queries: quantiles("bullet_query_first_result_latency_seconds", ofTopology),
				Description: "From a query's being seen to the first window or result that is sent for it."},
		}},
		{"Where do the latencies lie?", []Panel{
			{Kind: Heatmap, Title: "Filter latency", Unit: Seconds, Queries: one("sum("+rate("bullet_filter_latency_seconds"+ofTopology)+")", "{{le}}"),
				Description: "Records a second by latency, of all tasks: a second hump is a second cause."},
			{Kind: Heatmap, Title: "Query latency", Unit: Seconds, Queries: one("sum("+rate("bullet_query_latency_seconds"+ofTopology)+")", "{{le}}"),
				Description: "Queries a second by latency as clients see it, of all classes."},
		}},
		{"Which task is slow?", []Panel{
			{Kind: Table, Title: "Tasks with the largest mean", Unit: Seconds, Limit: latencyLimit,
				Queries:     one(`topk(10, bullet_filter_latency_mean_seconds{topology="$topology",worker=~"$worker"})`, ""),
				Columns:     map[string]string{"Time": "", "__name__": "", "topology": "", "Value": "Mean filter latency"},
				Description: "The ten tasks whose mean filter latency is largest at the end of the time range."},
		}},
		{"Can the numbers be trusted?", []Panel{
			{Kind: Lines, Title: "Clock skew", Unit: Seconds, Width: 8, Queries: each("max", "worker", "bullet_metrics_collection_skew_seconds"+ofWorkers),
				Description: "How far a worker's clock is ahead of the collector's beyond doubt: zero where it may be right. Latencies between hosts are wrong by the difference of their clocks."},
			{Kind: Lines, Title: "Latencies below zero", Unit: Rate, Width: 8,
				Description: "Records and queries a second whose latency came out negative, as clocks that differ make it; they are counted apart and are in no percentile.", Queries: []Query{
					{"sum(" + rate("bullet_filter_latency_negative_total"+ofTopology) + ")", "records"},
					{"sum(" + rate("bullet_query_engine_latency_negative_total"+ofTopology) + ")", "queries"}}},
			{Kind: Lines, Title: "What the hook left out", Unit: Rate, Width: 8, Queries: each("sum", "reason", rate("bullet_latency_hook_left_out_total"+ofTopology)),
				Description: "Queries a second that the latency hook could not measure, by reason."},
		}},
	},
}
