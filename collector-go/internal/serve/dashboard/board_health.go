package dashboard

// health is the board about the collector itself. The metrics about the arrival of samples
// (bullet_metrics_collection_...) are slices in the store. The other metrics, including go_... and process_..., are
// those of the collector's /metrics. The collector stores them itself, and a Prometheus may scrape them.
var health = Board{
	Name: "collector", Title: "Bullet Metrics: collector",
	Description: "State of the collector: age of the newest samples, lost samples, delays, stores, and resource usage.",
	Variables:   []Variable{topology, reporting},
	Rows: []Row{
		{"Do samples arrive?", []Panel{
			{Kind: Lines, Title: "Age of the newest sample", Unit: Seconds, Width: 8, Limit: 120,
				Queries:     one(`time() - max(timestamp(bullet_worker_heap_used_bytes{topology="$topology"}))`, "age"),
				Description: "Age of the topology's newest slice of heap. BulletMetricsCollectorBlind fires after three to four minutes. The line is two minutes."},
			{Kind: Lines, Title: "Reporting workers", Unit: Count, Width: 8, Queries: one(`count(bullet_worker_heap_used_bytes{topology="$topology"})`, "workers"),
				Description: "Workers of the topology that report their heap."},
			{Kind: Lines, Title: "Streams and connections", Unit: Count, Width: 8,
				Description: "Open gRPC streams and connections. Each metrics consumer has one stream.", Queries: []Query{
					{`sum(bullet_metrics_ingest_streams)`, "streams"},
					{`sum(bullet_metrics_ingest_connections)`, "connections"}}},
		}},
		{"Is every sample accounted for?", []Panel{
			{Kind: Lines, Title: "Samples received", Unit: Rate,
				Description: "Samples per second: received = journaled + deduplicated + rejected.", Queries: []Query{
					{"sum(" + rate("bullet_metrics_ingest_received_samples_total") + ")", "received"},
					{"sum(" + rate("bullet_metrics_ingest_journaled_samples_total") + ")", "journaled"},
					{"sum(" + rate("bullet_metrics_ingest_deduplicated_samples_total") + ")", "deduplicated"},
					{"sum(" + rate("bullet_metrics_ingest_rejected_samples_total") + ")", "rejected"}}},
			{Kind: Number, Title: "Unaccounted on arrival", Unit: Count, Width: 6, Limit: 1,
				Queries:     one(`sum(bullet_metrics_ingest_received_samples_total) - sum(bullet_metrics_ingest_journaled_samples_total) - sum(bullet_metrics_ingest_deduplicated_samples_total) - sum(bullet_metrics_ingest_rejected_samples_total)`, "missing"),
				Description: "received - journaled - deduplicated - rejected. A lasting value other than 0 is a bug."},
			{Kind: Number, Title: "Unaccounted in the feeds", Unit: Count, Width: 6, Limit: 1,
				Queries:     one(`sum(bullet_metrics_feed_samples{fate="read"}) - sum(bullet_metrics_feed_samples{fate!="read"})`, "missing"),
				Description: "read - in_slices - open - late - refused - left_out, over all stores. A value other than 0 is a bug."},
			{Kind: Lines, Title: "Fate of samples", Unit: Count, Width: 24, Queries: each("sum", "store, fate, reason", `bullet_metrics_feed_samples{fate!="read"}`),
				Description: "Samples read from the journal since its start, by store and fate."},
		}},
		{"Where were samples lost?", []Panel{
			{Kind: Lines, Title: "Dropped in the plugin", Unit: Rate, Width: 8, Queries: each("sum", "reason", rate("bullet_metrics_collection_dropped_samples_total"+ofTopology)),
				Description: "Samples per second that the plugin dropped before they reached the collector, by reason (BulletMetricsPluginDropping)."},
			{Kind: Lines, Title: "Rejected by the collector", Unit: Rate, Width: 8, Queries: each("sum", "reason", rate("bullet_metrics_ingest_rejected_samples_total")),
				Description: "Samples per second that the collector rejected permanently, by reason (BulletMetricsRefusing)."},
			{Kind: Lines, Title: "Batches, by outcome", Unit: Rate, Width: 8, Queries: each("sum", "outcome", rate("bullet_metrics_ingest_batches_total")),
				Description: "Batches per second: journaled, duplicate, full (the journal was full; the sender retries), or skipped after a full one."},
		}},
		{"Do samples arrive on time?", []Panel{
			{Kind: Lines, Title: "Longest gap, relative to the interval", Unit: Share, Queries: each("max", "worker", "bullet_metrics_collection_worker_interval_seen_ratio"+ofTopology),
				Description: "Longest recent time between two samples divided by the configured interval, for each worker's worst metric. 100% is normal; 200% means that one sample is missing."},
			{Kind: Lines, Title: "Missing and late samples", Unit: Rate,
				Description: "Expected samples per second that are not in slices, and those of them that arrived after their slice was closed.", Queries: []Query{
					{"sum(" + rate("bullet_metrics_collection_worker_missing_samples_total"+ofTopology) + ")", "missing"},
					{"sum(" + rate("bullet_metrics_collection_worker_late_samples_total"+ofTopology) + ")", "late"}}},
			{Kind: Lines, Title: "Unusable samples", Unit: Rate, Queries: each("sum", "reason", rate("bullet_metrics_collection_worker_refused_samples_total"+ofTopology)),
				Description: "Samples per second that could not be used, by reason."},
			{Kind: Lines, Title: "Samples in slices", Unit: Rate, Queries: each("sum", "worker", rate("bullet_metrics_collection_worker_samples_total"+ofTopology)),
				Description: "Samples per second that are in slices, by worker."},
			{Kind: Table, Title: "Metrics with the most missing samples", Unit: Count,
				Queries:     one(`topk(20, bullet_metrics_collection_missing_samples_total{topology="$topology"})`, ""),
				Columns:     map[string]string{"Time": "", "__name__": "", "topology": "", "Value": "Missing", "worker": "Worker", "metric": "Metric"},
				Description: "The twenty metrics with the most missing samples since they were first seen. Only metrics that recently missed samples are listed."},
		}},
		{"Are the clocks correct?", []Panel{
			{Kind: Lines, Title: "Clock skew, by worker", Unit: Seconds, Width: 24, Queries: each("max", "worker", "bullet_metrics_collection_skew_seconds"+ofTopology),
				Description: "Proven difference between a worker's clock and the collector's; positive if the worker's clock is ahead, 0 if it may be correct (BulletClockSkew)."},
		}},
		{"How fast is the collector?", []Panel{
			{Kind: Lines, Title: "Time to acknowledge a batch", Unit: Seconds, Queries: classic("bullet_metrics_ingest_acknowledge_duration_seconds"),
				Description: "Time from the arrival of a batch until it is on disk and acknowledged."},
			{Kind: Lines, Title: "Journal fsync", Unit: Seconds, Queries: classic("bullet_metrics_journal_fsync_duration_seconds"),
				Description: "Duration of one fsync of the journal."},
			{Kind: Lines, Title: "Accepting a batch", Unit: Seconds, Width: 8, Queries: classic("bullet_metrics_ingest_accept_duration_seconds"),
				Description: "Time from the decoding of a batch until it is in the journal's queue, without fsync."},
			{Kind: Lines, Title: "Extracting a batch", Unit: Seconds, Width: 8, Queries: classic("bullet_metrics_feed_extract_duration_seconds"),
				Description: "Time to put the samples of a batch into slices, over all stores."},
			{Kind: Lines, Title: "Writing slices", Unit: Seconds, Width: 8, Queries: classic("bullet_metrics_feed_write_duration_seconds"),
				Description: "Time until a store accepted a write, over all stores."},
			{Kind: Lines, Title: "HTTP requests: p99, by route", Unit: Seconds, Width: 24,
				Queries:     one(`histogram_quantile(0.99, sum by (route, le) (rate(bullet_metrics_http_request_seconds_bucket[$__rate_interval])))`, "{{route}}"),
				Description: "99th percentile of the response time, by route."},
		}},
		{"Do the stores keep up?", []Panel{
			{Kind: Lines, Title: "Store lag", Unit: Seconds, Width: 8, Queries: one("max by (store) (bullet_metrics_feed_behind_seconds)", "{{store}}"),
				Description: "How far a store lags behind the acknowledged samples. If the collector's host is lost, a remote store misses these samples and the open slices."},
			{Kind: Lines, Title: "Slices sent to the stores", Unit: Rate, Width: 8, Queries: each("sum", "store, fate, reason", rate("bullet_metrics_feed_slices_total")),
				Description: "Slices and gap markers per second, by store and fate."},
			{Kind: Lines, Title: "Failures", Unit: Rate, Width: 8,
				Description: "Failed writes of slices and checkpoints per second, which are retried, and failed compactions of the embedded store.", Queries: []Query{
					{`sum by (store) (rate(bullet_metrics_feed_failures_total[$__rate_interval]))`, "feed {{store}}"},
					{"sum(" + rate("bullet_metrics_embedded_compaction_failures_total") + ")", "compactions"}}},
		}},
		{"What does the collector use?", []Panel{
			{Kind: Lines, Title: "CPU of the collector", Unit: Cores, Width: 8, Queries: one("sum("+ofCollector("rate(process_cpu_seconds_total[$__rate_interval])")+")", "cpu"),
				Description: "CPU seconds per second of the collector process."},
			{Kind: Lines, Title: "Memory of the collector", Unit: Bytes, Width: 8,
				Description: "Resident memory of the process, and Go heap in use.", Queries: []Query{
					{"sum(" + ofCollector("process_resident_memory_bytes") + ")", "resident"},
					{"sum(" + ofCollector("go_memstats_heap_inuse_bytes") + ")", "heap in use"}}},
			{Kind: Lines, Title: "Running and waiting queries", Unit: Count, Width: 8, Queries: []Query{{`sum(bullet_metrics_query_running)`, "running"}, {`sum(bullet_metrics_query_waiting)`, "waiting"}},
				Description: "PromQL queries that are running, and that wait because of the concurrency limit."},
		}},
	},
}

// ofCollector selects the process metrics of collectors, because a Prometheus has those of other programs too.
func ofCollector(expr string) string {
	return expr + " and on (job, instance) bullet_metrics_build_info"
}
