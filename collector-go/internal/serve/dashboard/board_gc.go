package dashboard

// collection asks what garbage collection costs, and whether it helps.
var collection = Board{
	Name: "gc", Title: "Bullet: garbage collection",
	Description: "What garbage collection takes of the workers' time and CPU, by collector, whether the heap comes down after it, and whether latency goes with it.",
	Variables:   []Variable{topology, worker, reporting},
	Rows: []Row{
		{"What does collection take?", []Panel{
			{Kind: Lines, Title: "Share of time in pauses, by worker and collector", Unit: Share, Limit: 0.1,
				Description: "Seconds that collections paused the worker, a second of time; the line, 10%, is where BulletGCShareHigh fires.",
				Queries: one(`sum by (worker, collector) (rate(bullet_worker_gc_seconds_total{topology="$topology",worker=~"$worker"}[$__rate_interval]))`,
					"{{worker}} {{collector}}")},
			{Kind: Lines, Title: "Share of CPU time, by worker", Unit: Share,
				Description: "Seconds in pauses over CPU seconds of the process. A collection runs on several cores at a time, so that it takes more of the CPU than this shows.",
				Queries: one(gcTime+
					` / sum by (worker) (rate(bullet_worker_cpu_seconds_total{topology="$topology",worker=~"$worker"}[$__rate_interval]))`,
					"{{worker}}")},
		}},
		{"How often, and how long is one?", []Panel{
			{Kind: Lines, Title: "Collections", Unit: Rate,
				Description: "Collections a second, by worker and collector.",
				Queries: one(`sum by (worker, collector) (rate(bullet_worker_gc_collections_total{topology="$topology",worker=~"$worker"}[$__rate_interval]))`,
					"{{worker}} {{collector}}")},
			{Kind: Lines, Title: "Mean length of one", Unit: Seconds,
				Description: "Seconds in pauses over the number of collections. Where there was none, there is no line.",
				Queries: one(`sum by (worker, collector) (rate(bullet_worker_gc_seconds_total{topology="$topology",worker=~"$worker"}[$__rate_interval])) / (sum by (worker, collector) (rate(bullet_worker_gc_collections_total{topology="$topology",worker=~"$worker"}[$__rate_interval])) > 0)`,
					"{{worker}} {{collector}}")},
		}},
		{"What runs beside the worker?", []Panel{
			{Kind: Lines, Title: "Share of time in concurrent cycles, by worker and collector", Unit: Share, Width: 24,
				Description: "Seconds in concurrent cycles a second of time (ZGC, Shenandoah). The worker goes on meanwhile: they take CPU, and no time from its tasks unless it waits for memory.",
				Queries: one(`sum by (worker, collector) (rate(bullet_worker_gc_concurrent_seconds_total{topology="$topology",worker=~"$worker"}[$__rate_interval]))`,
					"{{worker}} {{collector}}")},
		}},
		{"Does the heap come down?", []Panel{
			{Kind: Lines, Title: "Heap in use over its limit", Unit: Share, Limit: 0.9,
				Description: "Heap in use over the most that the JVM may use, a slice's mean; BulletHeapNearLimit fires where it stays above 90%, the line.",
				Queries: one(`bullet_worker_heap_used_bytes{topology="$topology",worker=~"$worker"} / bullet_worker_heap_limit_bytes`,
					"{{worker}}")},
			{Kind: Lines, Title: "Heap of all workers", Unit: Bytes,
				Description: "Heap in use, held of the operating system, and allowed, of all workers together.",
				Queries: []Query{
					{`sum(bullet_worker_heap_used_bytes{topology="$topology"})`, "in use"},
					{`sum(bullet_worker_heap_committed_bytes{topology="$topology"})`, "committed"},
					{`sum(bullet_worker_heap_limit_bytes{topology="$topology"})`, "limit"},
				}},
			{Kind: Lines, Title: "Left after a collection, by pool", Unit: Bytes, Width: 24,
				Description: "Memory in use in each of the heap's pools after its last collection, of the worker that has most: what grows here lives on.",
				Queries: one(`max by (pool) (storm_memory_pool_used_after_gc_bytes{topology="$topology",worker=~"$worker"})`,
					"{{pool}}")},
		}},
		{"Does latency go with it?", []Panel{
			{Kind: Lines, Title: "Filter latency", Unit: Seconds, Width: 24, Limit: latencyLimit,
				Description: "The largest mean that a task reports; the line is the limit of 200 ms. The crosshair is shared with the panels above.",
				Queries:     one(`max(bullet_filter_latency_mean_seconds{topology="$topology"})`, "largest mean")},
		}},
	},
}
