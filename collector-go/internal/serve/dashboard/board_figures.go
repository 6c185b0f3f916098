package dashboard

const (
	bothCPU = `sum by (worker) (rate(bullet_worker_cpu_seconds_total{topology="$topology",worker=~"$worker"}[$__rate_interval]))`
	allCPU  = `sum by (worker) (rate(bullet_worker_cpu_seconds_total{topology="$topology"}[$__rate_interval]))`
	allHeap = `sum by (worker) (bullet_worker_heap_used_bytes{topology="$topology"})`
	gcTime  = `sum by (worker) (rate(bullet_worker_gc_seconds_total{topology="$topology",worker=~"$worker"}[$__rate_interval]))`
	allGC   = `sum by (worker) (rate(bullet_worker_gc_seconds_total{topology="$topology"}[$__rate_interval]))`
)

// figures has Figures 1 to 4 of "Tuning and Performance of Bullet in Storm", with one line per worker.
var figures = Board{
	Name: "figures", Title: "Bullet: Figures 1 to 4",
	Description: "Running queries, CPU, heap and garbage collection of a topology's workers, as in Figures 1 to 4 of \"Tuning and Performance of Bullet in Storm\".",
	Variables:   []Variable{topology, worker, reporting},
	Rows: []Row{
		{"How many queries run? (Figure 1)", []Panel{
			{Kind: Lines, Title: "Running queries", Unit: Count,
				Description: "Queries held by each JoinBolt task, and their sum. Each query is held by one task.", Queries: []Query{
					{`sum(bullet_active_queries{topology="$topology",component="JoinBolt"})`, "all"},
					{`sum by (task, worker) (bullet_active_queries{topology="$topology",component="JoinBolt",worker=~"$worker"})`, "task {{task}} in {{worker}}"}}},
			{Kind: Lines, Title: "New and rejected queries", Unit: Rate,
				Description: "Queries per second that JoinBolt created, rejected as improper, stopped because of their rate, or received twice.", Queries: []Query{
					{"sum(" + rate(`bullet_created_queries_total{topology="$topology",component="JoinBolt"}`) + ")", "created"},
					{"sum(" + rate(`bullet_improper_queries_total{topology="$topology",component="JoinBolt"}`) + ")", "improper"},
					{"sum(" + rate(`bullet_rate_exceeded_queries_total{topology="$topology",component="JoinBolt"}`) + ")", "rate exceeded"},
					{"sum(" + rate(`bullet_duplicated_queries_total{topology="$topology",component="JoinBolt"}`) + ")", "duplicated"}}},
		}},
		{"How much CPU do the workers use? (Figure 2)", []Panel{
			{Kind: Lines, Title: "CPU time, in cores", Unit: Cores, Width: 12, Queries: one(bothCPU, "{{worker}}"),
				Description: "CPU seconds per second of each worker process, user and system time, as in reports."},
			{Kind: Lines, Title: "CPU time, in ms/min", Unit: MsAMinute, Width: 12, Times: 60_000, Queries: one(bothCPU, "{{worker}}"),
				Description: "The same in the document's unit, ms per minute; 60,000 ms/min are one core. Grafana converts the stored seconds."},
			{Kind: Lines, Title: "CPU of hosts and of their workers", Unit: Cores, Queries: []Query{{"max by (host) (" + hostBusy + ")", "{{host}}"}, {workersCPU, "workers on {{host}}"}},
				Description: "CPU seconds per second of each host, and of the topology's workers on it. Other processes use the difference. Empty if the plugin's sampler is disabled or cannot read /proc/stat."},
			{Kind: Lines, Title: "Steal, by host", Unit: Share, Limit: stealLimit, Queries: one(stealShare, "{{host}}"),
				Description: "Share of a host's CPU time that its hypervisor gives to other machines. Above 5% (line), workers are slower than their CPU time suggests. Empty if the plugin's sampler is disabled or cannot read /proc/stat."},
			{Kind: Lines, Title: "CPU user and system time of all workers", Unit: Cores, Queries: each("sum", "mode", rate("bullet_worker_cpu_seconds_total"+ofTopology)),
				Description: "CPU seconds per second of all workers by mode; \"total\" if the system does not distinguish modes."},
		}},
		{"How much heap do the workers use? (Figure 3)", []Panel{
			{Kind: Lines, Title: "Heap in use", Unit: Bytes, Width: 24, Queries: each("sum", "worker", "bullet_worker_heap_used_bytes"+ofWorkers),
				Description: "Heap in use in each worker (mean of a slice)."},
		}},
		{"How much time does garbage collection take? (Figure 4)", []Panel{
			{Kind: Lines, Title: "Share of time in garbage collection pauses", Unit: Share, Width: 12, Queries: one(gcTime, "{{worker}}"),
				Description: "Share of time that garbage collection pauses each worker, summed over its collectors."},
			{Kind: Lines, Title: "Time in garbage collection pauses, in ms/min", Unit: MsAMinute, Width: 12, Times: 60_000, Queries: one(gcTime, "{{worker}}"),
				Description: "The same in the document's unit, ms per minute; 60,000 ms/min are all the time. Grafana converts the stored seconds."},
		}},
		{"What do all workers use together?", []Panel{
			meanAndTotal("CPU time: mean and total",
				"CPU seconds per second: mean per worker, and total. The total is the cost of the topology.",
				Cores, allCPU),
			meanAndTotal("Heap in use: mean and total", "Heap in use: mean per worker, and total.", Bytes, allHeap),
			meanAndTotal("Share of time in garbage collection pauses: mean and total",
				"Share of time in pauses: mean per worker, and sum over all workers.", Share, allGC),
			workers(),
		}},
		{"Is filter latency below 200 ms?", []Panel{
			{Kind: Lines, Title: "Filter latency: Bullet's mean", Unit: Seconds, Width: 24, Limit: latencyLimit, Queries: each("max", "worker", "bullet_filter_latency_mean_seconds"+ofWorkers),
				Description: "Largest mean that a FilterBolt task reports, by worker. The line is the 200 ms limit. Clock skew can make it negative."},
		}},
	},
}
