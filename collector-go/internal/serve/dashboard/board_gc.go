package dashboard

// collection is the board about the cost and the effect of garbage collection.
var collection = Board{
	Name: "gc", Title: "Bullet: garbage collection",
	Description: "Time and CPU that garbage collection takes, heap usage after collections, and filter latency.",
	Variables:   []Variable{topology, worker, reporting},
	Rows: []Row{
		{"How much time does garbage collection take?", []Panel{
			{Kind: Lines, Title: "Share of time in pauses, by worker and collector", Unit: Share, Limit: 0.1,
				Queries:     each("sum", "worker, collector", rate("bullet_worker_gc_seconds_total"+ofWorkers)),
				Description: "Share of time that collections paused the worker. BulletGCShareHigh fires above 10% (line)."},
			{Kind: Lines, Title: "Share of CPU time, by worker", Unit: Share,
				Queries:     one(gcTime+` / sum by (worker) (rate(bullet_worker_cpu_seconds_total{topology="$topology",worker=~"$worker"}[$__rate_interval]))`, "{{worker}}"),
				Description: "Seconds in pauses divided by CPU seconds of the process. A collection runs on several cores, so it uses more CPU than this shows."},
		}},
		{"How often does it run, and for how long?", []Panel{
			{Kind: Lines, Title: "Collections", Unit: Rate, Queries: each("sum", "worker, collector", rate("bullet_worker_gc_collections_total"+ofWorkers)),
				Description: "Collections per second, by worker and collector."},
			{Kind: Lines, Title: "Mean pause", Unit: Seconds,
				Queries:     one(`sum by (worker, collector) (rate(bullet_worker_gc_seconds_total{topology="$topology",worker=~"$worker"}[$__rate_interval])) / (sum by (worker, collector) (rate(bullet_worker_gc_collections_total{topology="$topology",worker=~"$worker"}[$__rate_interval])) > 0)`, "{{worker}} {{collector}}"),
				Description: "Seconds in pauses divided by the number of collections. Without collections, there is no line."},
		}},
		{"What runs concurrently?", []Panel{
			{Kind: Lines, Title: "Share of time in concurrent cycles, by worker and collector", Unit: Share, Width: 24,
				Queries:     each("sum", "worker, collector", rate("bullet_worker_gc_concurrent_seconds_total"+ofWorkers)),
				Description: "Share of time in concurrent cycles (ZGC, Shenandoah). They use CPU, but do not stop the tasks unless the worker waits for memory."},
		}},
		{"Does collection free the heap?", []Panel{
			{Kind: Lines, Title: "Heap usage, share of the limit", Unit: Share, Limit: 0.9,
				Queries:     one(`bullet_worker_heap_used_bytes{topology="$topology",worker=~"$worker"} / bullet_worker_heap_limit_bytes`, "{{worker}}"),
				Description: "Heap in use divided by the JVM's maximum (mean of a slice). BulletHeapNearLimit fires if it stays above 90% (line)."},
			{Kind: Lines, Title: "Heap of all workers", Unit: Bytes,
				Description: "Heap in use, committed by the operating system, and maximum, over all workers.", Queries: []Query{
					{`sum(bullet_worker_heap_used_bytes{topology="$topology"})`, "in use"},
					{`sum(bullet_worker_heap_committed_bytes{topology="$topology"})`, "committed"},
					{`sum(bullet_worker_heap_limit_bytes{topology="$topology"})`, "limit"}}},
			{Kind: Lines, Title: "Heap after a collection, by pool", Unit: Bytes, Width: 24, Queries: each("max", "pool", "storm_memory_pool_used_after_gc_bytes"+ofWorkers),
				Description: "Memory in use in each heap pool after its last collection, for the worker with the most. Steady growth means a leak or accumulating data."},
		}},
		{"Does latency follow?", []Panel{
			{Kind: Lines, Title: "Filter latency", Unit: Seconds, Width: 24, Limit: latencyLimit, Queries: one(`max(bullet_filter_latency_mean_seconds{topology="$topology"})`, "largest mean"),
				Description: "Largest mean that a task reports. The line is the 200 ms limit."},
		}},
	},
}
