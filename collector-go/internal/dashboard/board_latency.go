package dashboard

const ofTopology = `{topology="$topology"}`

// latency asks where time goes, from a record's timestamp to a client's result.
var latency = Board{
	Name: "latency", Title: "Bullet: latency",
	Description: "Latency of records and queries: Bullet's own mean, the hook's histograms, what clients see, and whether the clocks allow any of it.",
	Variables:   []Variable{topology, worker, reporting},
	Rows: []Row{
		{"Is filter latency below 200 ms?", []Panel{
			{Kind: Lines, Title: "Filter latency: Bullet's mean, by worker", Unit: Seconds, Limit: latencyLimit, Description: "The largest of the means over their interval that FilterBolt's tasks report, from a record's timestamp to its being filtered; the line is the limit of 200 ms. The alert BulletFilterLatencyMeanHigh goes by it.", Queries: one(`max by (worker) (bullet_filter_latency_mean_seconds{topology="$topology",worker=~"$worker"})`, "{{worker}}")},
			{Kind: Lines, Title: "Filter latency: percentiles", Unit: Seconds, Limit: latencyLimit, Description: "Percentiles of the latency hook's histogram over all records of all tasks; the line is the limit of 200 ms. The alert BulletFilterLatencyP99High goes by the p99.", Queries: quantiles("bullet_filter_latency_seconds", ofTopology)},
			{Kind: Number, Title: "Records above 200 ms", Unit: Share, Width: 12, Height: 5, Limit: 0.01, Description: "Share of records that were filtered later than 200 ms after their timestamp; red above 1%, which is where the p99 passes the limit.", Queries: one(`1 - histogram_fraction(0, 0.2, sum(rate(bullet_filter_latency_seconds{topology="$topology"}[$__rate_interval])))`, "above 200 ms")},
			{Kind: Number, Title: "Workers", Unit: Count, Width: 12, Height: 5, Description: "Workers that report.", Queries: one(`count(count by (worker) (bullet_worker_heap_used_bytes{topology="$topology"}))`, "workers")},
		}},
		{"What do clients see?", []Panel{
			{Kind: Lines, Title: "Query latency: p99, by class", Unit: Seconds, Description: "From when the canary or the load program meant to start a query to its result, 99th percentile of each class. A query lasts as long as it asks for: compare a class with itself.", Queries: one(`histogram_quantile(0.99, sum by (class) (rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}")},
			{Kind: Lines, Title: "Query latency: p50, by class", Unit: Seconds, Description: "The same, the median.", Queries: one(`histogram_quantile(0.5, sum by (class) (rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}")},
			{Kind: Lines, Title: "Completeness of results, by class", Unit: Share, Description: "Records in results over those that were generated to match; 100% is all of them, what is below is data lost.", Queries: one(`avg by (class) (bullet_query_result_completeness_ratio{topology="$topology"})`, "{{class}}")},
			{Kind: Lines, Title: "Queries measured, by class", Unit: Rate, Description: "Queries a second whose latency was measured: the number behind the percentiles and means of this row.", Queries: one(`sum by (class) (histogram_count(rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "{{class}}")},
			{Kind: Number, Title: "Classes measured", Unit: Count, Width: 6, Height: 5, Description: "Classes of queries for which there are results: the number behind each mean of completeness.", Queries: one(`count(count by (class) (bullet_query_result_completeness_ratio{topology="$topology"}))`, "classes")},
			{Kind: Lines, Title: "Queries without an answer, by class", Unit: Rate, Height: 5, Description: "Queries a second that failed, timed out or could not be asked in time (missed). Those that failed are in no latency: an error comes at any speed.", Queries: one(`sum by (class, outcome) (rate(bullet_query_outcomes_total{topology="$topology",outcome!="returned"}[$__rate_interval]))`, "{{class}} {{outcome}}")},
			{Kind: Number, Title: "All queries measured", Unit: Rate, Width: 6, Height: 5, Description: "Queries a second of all classes together.", Queries: one(`sum(histogram_count(rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval])))`, "queries")},
		}},
		{"How long does the engine itself take?", []Panel{
			{Kind: Lines, Title: "Engine latency: percentiles", Unit: Seconds, Width: 8, Description: "From a query's being seen by JoinBolt to its result's being sent, as the latency hook measures it.", Queries: quantiles("bullet_query_engine_latency_seconds", ofTopology)},
			{Kind: Lines, Title: "Latency from a query's creation: percentiles", Unit: Seconds, Width: 8, Description: "From when a query was made, by the clock of the web service or of Storm's DRPC, to its result's being sent: what the way to the topology adds to the engine's own.", Queries: quantiles("bullet_query_created_latency_seconds", ofTopology)},
			{Kind: Lines, Title: "Time to the first result: percentiles", Unit: Seconds, Width: 8, Description: "From a query's being seen to the first window or result that is sent for it.", Queries: quantiles("bullet_query_first_result_latency_seconds", ofTopology)},
		}},
		{"Where do the latencies lie?", []Panel{
			{Kind: Heatmap, Title: "Filter latency", Unit: Seconds, Description: "Records a second by latency, of all tasks: a second hump is a second cause.", Queries: one(`sum(rate(bullet_filter_latency_seconds{topology="$topology"}[$__rate_interval]))`, "{{le}}")},
			{Kind: Heatmap, Title: "Query latency", Unit: Seconds, Description: "Queries a second by latency as clients see it, of all classes.", Queries: one(`sum(rate(bullet_query_latency_seconds{topology="$topology"}[$__rate_interval]))`, "{{le}}")},
		}},
		{"Which task is slow?", []Panel{
			{Kind: Table, Title: "Tasks with the largest mean", Unit: Seconds, Limit: latencyLimit, Description: "The ten tasks whose mean filter latency is largest at the end of the time range.", Columns: map[string]string{"Time": "", "__name__": "", "topology": "", "Value": "Mean filter latency"},
				Queries: one(`topk(10, bullet_filter_latency_mean_seconds{topology="$topology",worker=~"$worker"})`, "")},
		}},
		{"Can the numbers be trusted?", []Panel{
			{Kind: Lines, Title: "Clock skew", Unit: Seconds, Width: 8, Description: "How far a worker's clock is ahead of the collector's beyond doubt: zero where it may be right. Latencies between hosts are wrong by the difference of their clocks.", Queries: one(`max by (worker) (bullet_metrics_collection_skew_seconds{topology="$topology",worker=~"$worker"})`, "{{worker}}")},
			{Kind: Lines, Title: "Latencies below zero", Unit: Rate, Width: 8, Description: "Records and queries a second whose latency came out negative, as clocks that differ make it; they are counted apart and are in no percentile.", Queries: []Query{
				{`sum(rate(bullet_filter_latency_negative_total{topology="$topology"}[$__rate_interval]))`, "records"},
				{`sum(rate(bullet_query_engine_latency_negative_total{topology="$topology"}[$__rate_interval]))`, "queries"},
			}},
			{Kind: Lines, Title: "What the hook left out", Unit: Rate, Width: 8, Description: "Queries a second that the latency hook could not measure, by reason.", Queries: one(`sum by (reason) (rate(bullet_latency_hook_left_out_total{topology="$topology"}[$__rate_interval]))`, "{{reason}}")},
		}},
	},
}
