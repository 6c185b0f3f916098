package dashboard

// health is the board about the collector itself. The metrics about the arrival of samples
// (bullet_metrics_collection_...) are slices in the store. The other metrics, including go_... and process_..., are
// those of the collector's /metrics. The collector stores them itself, and a Prometheus may scrape them.
var health = Board{
	Name: "collector", Title: "Bullet Metrics: collector",
	Description: "Whether the collector sees everything: how old the newest samples are, whether the books balance, what was lost and where, how fast it is.",
	Variables:   []Variable{topology, reporting},
	Rows: []Row{
		{"Does it see the topology?", []Panel{
			{Kind: Lines, Title: "Age of the newest sample", Unit: Seconds, Width: 8, Limit: 120,
				Queries:     one(`time() - max(timestamp(bullet_worker_heap_used_bytes{topology="$topology"}))`, "age"),
				Description: "How long ago the end of the topology's newest slice of heap is; BulletMetricsCollectorBlind fires where it passes two to three minutes. The line is two minutes."},
			{Kind: Lines, Title: "Workers that report", Unit: Count, Width: 8, Queries: one(`count(bullet_worker_heap_used_bytes{topology="$topology"})`, "workers"),
				Description: "Workers of the topology that report their heap."},
			{Kind: Lines, Title: "Streams and connections", Unit: Count, Width: 8,
				Description: "Open gRPC streams and connections: one stream for each consumer.", Queries: []Query{
					{`sum(bullet_metrics_ingest_streams)`, "streams"},
					{`sum(bullet_metrics_ingest_connections)`, "connections"}}},
		}},
		{"Do the books balance?", []Panel{
			{Kind: Lines, Title: "At the door", Unit: Rate,
				Description: "Samples a second: received = journaled + deduplicated + rejected.", Queries: []Query{
					{"sum(" + rate("bullet_metrics_ingest_received_samples_total") + ")", "received"},
					{"sum(" + rate("bullet_metrics_ingest_journaled_samples_total") + ")", "journaled"},
					{"sum(" + rate("bullet_metrics_ingest_deduplicated_samples_total") + ")", "deduplicated"},
					{"sum(" + rate("bullet_metrics_ingest_rejected_samples_total") + ")", "rejected"}}},
			{Kind: Number, Title: "Missing at the door", Unit: Count, Width: 6, Limit: 1,
				Queries:     one(`sum(bullet_metrics_ingest_received_samples_total) - sum(bullet_metrics_ingest_journaled_samples_total) - sum(bullet_metrics_ingest_deduplicated_samples_total) - sum(bullet_metrics_ingest_rejected_samples_total)`, "missing"),
				Description: "received - journaled - deduplicated - rejected; anything but 0 for long is a fault of the program."},
			{Kind: Number, Title: "Missing in the feeds", Unit: Count, Width: 6, Limit: 1,
				Queries:     one(`sum(bullet_metrics_feed_samples{fate="read"}) - sum(bullet_metrics_feed_samples{fate!="read"})`, "missing"),
				Description: "read - in_slices - open - late - refused - left_out, of all stores; anything but 0 is a fault of the program."},
			{Kind: Lines, Title: "What became of samples", Unit: Count, Width: 24, Queries: each("sum", "store, fate, reason", `bullet_metrics_feed_samples{fate!="read"}`),
				Description: "Samples read from the journal since its beginning, by store and by what became of them."},
		}},
		{"What was lost, and where?", []Panel{
			{Kind: Lines, Title: "Dropped in the plugin", Unit: Rate, Width: 8, Queries: each("sum", "reason", rate("bullet_metrics_collection_dropped_samples_total"+ofTopology)),
				Description: "Samples a second that the plugin dropped before they reached the collector, by reason (BulletMetricsPluginDropping)."},
			{Kind: Lines, Title: "Rejected at the door", Unit: Rate, Width: 8, Queries: each("sum", "reason", rate("bullet_metrics_ingest_rejected_samples_total")),
				Description: "Samples a second that were refused for ever, by reason."},
			{Kind: Lines, Title: "Batches, by outcome", Unit: Rate, Width: 8, Queries: each("sum", "outcome", rate("bullet_metrics_ingest_batches_total")),
				Description: "Batches a second: journaled, duplicate, full (the journal had no room: back-pressure, nothing is lost yet), skipped after a full."},
		}},
		{"Do samples come as they should?", []Panel{
			{Kind: Lines, Title: "Interval: seen over configured", Unit: Share, Queries: each("max", "worker", "bullet_metrics_collection_worker_interval_seen_ratio"+ofTopology),
				Description: "The longest recent time between two samples over the interval that their source reports, for each worker's worst metric: 100% where samples come as they should, 200% where one is missing."},
			{Kind: Lines, Title: "Samples missing and late", Unit: Rate,
				Description: "Samples a second that should be in slices and are not, and those among them that came when their slice was closed, of all metrics.", Queries: []Query{
					{"sum(" + rate("bullet_metrics_collection_worker_missing_samples_total"+ofTopology) + ")", "missing"},
					{"sum(" + rate("bullet_metrics_collection_worker_late_samples_total"+ofTopology) + ")", "late"}}},
			{Kind: Lines, Title: "Samples that make no sense", Unit: Rate, Queries: each("sum", "reason", rate("bullet_metrics_collection_worker_refused_samples_total"+ofTopology)),
				Description: "Samples a second that could not be used, by reason."},
			{Kind: Lines, Title: "Samples in slices", Unit: Rate, Queries: each("sum", "worker", rate("bullet_metrics_collection_worker_samples_total"+ofTopology)),
				Description: "Samples a second that are in slices, of all metrics, by worker."},
			{Kind: Table, Title: "Metrics that miss most", Unit: Count,
				Queries:     one(`topk(20, bullet_metrics_collection_missing_samples_total{topology="$topology"})`, ""),
				Columns:     map[string]string{"Time": "", "__name__": "", "topology": "", "Value": "Missing", "worker": "Worker", "metric": "Metric"},
				Description: "Of the metrics of a worker that missed samples in the last minutes of the time range, the twenty that have missed most since they were first seen."},
		}},
		{"Do the clocks agree?", []Panel{
			{Kind: Lines, Title: "Clock skew, by worker", Unit: Seconds, Width: 24, Queries: each("max", "worker", "bullet_metrics_collection_skew_seconds"+ofTopology),
				Description: "How far a worker's clock is ahead of the collector's beyond doubt, whatever samples and answers took on their way: zero where it may be right (BulletClockSkew)."},
		}},
		{"How fast is it?", []Panel{
			{Kind: Lines, Title: "From a batch's arrival to its acknowledgement", Unit: Seconds, Queries: classic("bullet_metrics_ingest_acknowledge_duration_seconds"),
				Description: "Time until a batch is on disk: TP50, TP99, TP99.9."},
			{Kind: Lines, Title: "The journal's fsync", Unit: Seconds, Queries: classic("bullet_metrics_journal_fsync_duration_seconds"),
				Description: "Time of one fsync of the journal: TP50, TP99, TP99.9."},
			{Kind: Lines, Title: "Accepting a batch", Unit: Seconds, Width: 8, Queries: classic("bullet_metrics_ingest_accept_duration_seconds"),
				Description: "Time from a batch's decoding to its place in the journal's queue, fsync apart: TP50, TP99, TP99.9."},
			{Kind: Lines, Title: "Extracting a batch", Unit: Seconds, Width: 8, Queries: classic("bullet_metrics_feed_extract_duration_seconds"),
				Description: "Time from a batch of the journal to its samples' slices, of all stores: TP50, TP99, TP99.9."},
			{Kind: Lines, Title: "Writing slices", Unit: Seconds, Width: 8, Queries: classic("bullet_metrics_feed_write_duration_seconds"),
				Description: "Time that a store took to accept the slices handed over at once, of all stores: TP50, TP99, TP99.9."},
			{Kind: Lines, Title: "Answers over HTTP", Unit: Seconds, Width: 24,
				Queries:     one(`histogram_quantile(0.99, sum by (route, le) (rate(bullet_metrics_http_request_seconds_bucket[$__rate_interval])))`, "{{route}}"),
				Description: "Time until a request is answered, 99th percentile by route."},
		}},
		{"Do the stores keep up?", []Panel{
			{Kind: Lines, Title: "Behind the journal", Unit: Seconds, Width: 8, Queries: one("max by (store) (bullet_metrics_feed_behind_seconds)", "{{store}}"),
				Description: "How far what a store has been given is behind what the collector acknowledged. Of a store elsewhere, what came since and open slices are lost with the collector's machine."},
			{Kind: Lines, Title: "Slices handed to the stores", Unit: Rate, Width: 8, Queries: each("sum", "store, fate, reason", rate("bullet_metrics_feed_slices_total")),
				Description: "Slices and gap markers a second, by store and by what became of them."},
			{Kind: Lines, Title: "Failures", Unit: Rate, Width: 8,
				Description: "Attempts a second to hand slices on or to save a checkpoint that failed and are repeated, and compactions of the embedded store that failed.", Queries: []Query{
					{`sum by (store) (rate(bullet_metrics_feed_failures_total[$__rate_interval]))`, "feed {{store}}"},
					{"sum(" + rate("bullet_metrics_embedded_compaction_failures_total") + ")", "compactions"}}},
		}},
		{"What does it take itself?", []Panel{
			{Kind: Lines, Title: "CPU of the collector", Unit: Cores, Width: 8, Queries: one("sum("+ofCollector("rate(process_cpu_seconds_total[$__rate_interval])")+")", "cpu"),
				Description: "CPU seconds a second of the collector's process."},
			{Kind: Lines, Title: "Memory of the collector", Unit: Bytes, Width: 8,
				Description: "Resident memory of the process, and the heap that Go has in use.", Queries: []Query{
					{"sum(" + ofCollector("process_resident_memory_bytes") + ")", "resident"},
					{"sum(" + ofCollector("go_memstats_heap_inuse_bytes") + ")", "heap in use"}}},
			{Kind: Lines, Title: "Queries under way", Unit: Count, Width: 8, Queries: []Query{{`sum(bullet_metrics_query_running)`, "running"}, {`sum(bullet_metrics_query_waiting)`, "waiting"}},
				Description: "PromQL queries that run and that wait for a place."},
		}},
	},
}

// ofCollector selects the process metrics of collectors, because a Prometheus has those of other programs too.
func ofCollector(expr string) string {
	return expr + " and on (job, instance) bullet_metrics_build_info"
}

// classic returns queries for the quantiles of a histogram with classic buckets.
func classic(metric string) (all []Query) {
	for _, q := range []struct{ q, name string }{{"0.5", "TP50"}, {"0.99", "TP99"}, {"0.999", "TP99.9"}} {
		all = append(all, Query{"histogram_quantile(" + q.q + ", sum by (le) (rate(" + metric +
			"_bucket[$__rate_interval])))", q.name})
	}
	return all
}
