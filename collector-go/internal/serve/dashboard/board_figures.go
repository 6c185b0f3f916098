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
	Description: "Queries running, CPU time, heap and time in garbage collection of a topology's workers on one time axis, as the document \"Tuning and Performance of Bullet in Storm\" shows them.",
	Variables:   []Variable{topology, worker, reporting},
	Rows: []Row{
		{"How many queries run? (Figure 1)", []Panel{
			{Kind: Lines, Title: "Queries running", Unit: Count,
				Description: "Queries that JoinBolt's tasks hold, each and together: every query is in one of them.", Queries: []Query{
					{`sum(bullet_active_queries{topology="$topology",component="JoinBolt"})`, "all"},
					{`sum by (task, worker) (bullet_active_queries{topology="$topology",component="JoinBolt",worker=~"$worker"})`, "task {{task}} in {{worker}}"}}},
			{Kind: Lines, Title: "Queries that come, and that end badly", Unit: Rate,
				Description: "Queries a second that JoinBolt's tasks saw created, could not run, killed for their rate or had already.", Queries: []Query{
					{"sum(" + rate(`bullet_created_queries_total{topology="$topology",component="JoinBolt"}`) + ")", "created"},
					{"sum(" + rate(`bullet_improper_queries_total{topology="$topology",component="JoinBolt"}`) + ")", "improper"},
					{"sum(" + rate(`bullet_rate_exceeded_queries_total{topology="$topology",component="JoinBolt"}`) + ")", "rate exceeded"},
					{"sum(" + rate(`bullet_duplicated_queries_total{topology="$topology",component="JoinBolt"}`) + ")", "duplicated"}}},
		}},
		{"How much CPU do the workers use? (Figure 2)", []Panel{
			{Kind: Lines, Title: "CPU time, in cores", Unit: Cores, Width: 12, Queries: one(bothCPU, "{{worker}}"),
				Description: "CPU seconds a second of each worker's process, user and system time together, as in reports."},
			{Kind: Lines, Title: "CPU time, in ms a minute", Unit: MsAMinute, Width: 12, Times: 60_000, Queries: one(bothCPU, "{{worker}}"),
				Description: "The same as the document has it: ms of CPU in a minute of time; 60,000 is one core, 300K ms/min are five. Grafana multiplies; what is stored are seconds."},
			{Kind: Lines, Title: "CPU of hosts, and of the workers there", Unit: Cores, Queries: []Query{{"max by (host) (" + hostBusy + ")", "{{host}}"}, {workersCPU, "workers on {{host}}"}},
				Description: "CPU seconds a second of each machine that has workers, whatever uses them, and of the topology's workers on it: what lies between is used by others. Empty where the plugin's sampler is off or finds no /proc/stat."},
			{Kind: Lines, Title: "Steal, by host", Unit: Share, Limit: stealLimit, Queries: one(stealShare, "{{host}}"),
				Description: "Share of a machine's CPU time that its hypervisor gives to others; from 5% on, the line, the workers are slower than their CPU time shows. Empty where the plugin's sampler is off or finds no /proc/stat."},
			{Kind: Lines, Title: "CPU user and system time of all workers", Unit: Cores, Queries: each("sum", "mode", rate("bullet_worker_cpu_seconds_total"+ofTopology)),
				Description: "CPU seconds a second of all workers by mode; \"total\" where the system does not distinguish them."},
		}},
		{"How much heap do they hold? (Figure 3)", []Panel{
			{Kind: Lines, Title: "Heap in use", Unit: Bytes, Width: 24, Queries: each("sum", "worker", "bullet_worker_heap_used_bytes"+ofWorkers),
				Description: "Heap in use in each worker, a slice's mean."},
		}},
		{"How long do they collect garbage? (Figure 4)", []Panel{
			{Kind: Lines, Title: "Share of time in garbage collection pauses", Unit: Share, Width: 12, Queries: one(gcTime, "{{worker}}"),
				Description: "Seconds in collections a second of time, of each worker, all its collectors together."},
			{Kind: Lines, Title: "Time in garbage collection pauses, in ms a minute", Unit: MsAMinute, Width: 12, Times: 60_000, Queries: one(gcTime, "{{worker}}"),
				Description: "The same as the document has it: ms of collection in a minute of time; 60,000 is all the time. Grafana multiplies; what is stored are seconds."},
		}},
		{"What do all workers come to, and how many are they?", []Panel{
			meanAndTotal("CPU time: mean and total",
				"CPU seconds a second of a worker in the mean, and of all workers together. The total is what the topology costs.",
				Cores, allCPU),
			meanAndTotal("Heap in use: mean and total",
				"Heap in use of a worker in the mean, and of all workers together.", Bytes, allHeap),
			meanAndTotal("Share of time in garbage collection pauses: mean and total",
				"Seconds in collections a second of time: of a worker in the mean, and of all workers added up.",
				Share, allGC),
			workers(),
		}},
		{"Does it hold the limit meanwhile?", []Panel{
			{Kind: Lines, Title: "Filter latency: Bullet's mean", Unit: Seconds, Width: 24, Limit: latencyLimit, Queries: each("max", "worker", "bullet_filter_latency_mean_seconds"+ofWorkers),
				Description: "The largest of the means that FilterBolt's tasks report, by worker; the line is the limit of 200 ms. Clocks that differ make it negative."},
		}},
	},
}
