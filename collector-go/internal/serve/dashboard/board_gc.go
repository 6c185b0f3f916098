package dashboard

// collection is the board about the cost and the effect of garbage collection.
var collection = Board{
	Name: "gc", Title: "Bullet: garbage collection",
	Description: "What garbage collection takes of the workers' time and CPU, by collector, whether the heap comes down after it, and whether latency goes with it.",
	Variables:   []Variable{topology, worker, reporting},
	Rows: []Row{
		{"What does collection take?", []Panel{
			{Kind: Lines, Title: "Share of time in pauses, by worker and collector", Unit: Share, Limit: 0.1,
				Queries:     each("sum", "worker, collector", rate("bullet_worker_gc_seconds_total"+ofWorkers)),
				Description: "Seconds that collections paused the worker, a second of time; the line, 10%, is where BulletGCShareHigh fires."},
			{Kind: Lines, Title: "Share of CPU time, by worker", Unit: Share,
				Queries:     one(gcTime+` / sum by (worker) (rate(bullet_worker_cpu_seconds_total{topology="$topology",worker=~"$worker"}[$__rate_interval]))`, "{{worker}}"),
				Description: "Seconds in pauses over CPU seconds of the process. A collection runs on several cores at a time, so that it takes more of the CPU than this shows."},
		}},
		{"How often, and how long is one?", []Panel{
			{Kind: Lines, Title: "Collections", Unit: Rate, Queries: each("sum", "worker, collector", rate("bullet_worker_gc_collections_total"+ofWorkers)),
				Description: "Collections a second, by worker and collector."},
			{Kind: Lines, Title: "Mean length of one", Unit: Seconds,
				Queries:     one(`sum by (worker, collector) (rate(bullet_worker_gc_seconds_total{topology="$topology",worker=~"$worker"}[$__rate_interval])) / (sum by (worker, collector) (rate(bullet_worker_gc_collections_total{topology="$topology",worker=~"$worker"}[$__rate_interval])) > 0)`, "{{worker}} {{collector}}"),
				Description: "Seconds in pauses over the number of collections. Where there was none, there is no line."},
		}},
		{"What runs beside the worker?", []Panel{
			{Kind: Lines, Title: "Share of time in concurrent cycles, by worker and collector", Unit: Share, Width: 24,
				Queries:     each("sum", "worker, collector", rate("bullet_worker_gc_concurrent_seconds_total"+ofWorkers)),
				Description: "Seconds in concurrent cycles a second of time (ZGC, Shenandoah). The worker goes on meanwhile: they take CPU, and no time from its tasks unless it waits for memory."},
		}},
		{"Does the heap come down?", []Panel{
			{Kind: Lines, Title: "Heap in use over its limit", Unit: Share, Limit: 0.9,
				Queries:     one(`bullet_worker_heap_used_bytes{topology="$topology",worker=~"$worker"} / bullet_worker_heap_limit_bytes`, "{{worker}}"),
				Description: "Heap in use over the most that the JVM may use, a slice's mean; BulletHeapNearLimit fires where it stays above 90%, the line."},
			{Kind: Lines, Title: "Heap of all workers", Unit: Bytes,
				Description: "Heap in use, held of the operating system, and allowed, of all workers together.", Queries: []Query{
					{`sum(bullet_worker_heap_used_bytes{topology="$topology"})`, "in use"},
					{`sum(bullet_worker_heap_committed_bytes{topology="$topology"})`, "committed"},
					{`sum(bullet_worker_heap_limit_bytes{topology="$topology"})`, "limit"}}},
			{Kind: Lines, Title: "Left after a collection, by pool", Unit: Bytes, Width: 24, Queries: each("max", "pool", "storm_memory_pool_used_after_gc_bytes"+ofWorkers),
				Description: "Memory in use in each of the heap's pools after its last collection, of the worker that has most: what grows here lives on."},
		}},
		{"Does latency go with it?", []Panel{
			{Kind: Lines, Title: "Filter latency", Unit: Seconds, Width: 24, Limit: latencyLimit, Queries: one(`max(bullet_filter_latency_mean_seconds{topology="$topology"})`, "largest mean"),
				Description: "The largest mean that a task reports; the line is the limit of 200 ms. The crosshair is shared with the panels above."},
		}},
	},
}
