package dashboard

import "strings"

// overview is the board to start with. It has one number per subject, which links to the board of the subject, the
// firing alerts, and a table of the components. It has no time series that another board has.
var overview = Board{
	Name: "overview", Title: "Bullet: overview",
	Description: "Whether a topology is well, in a number for each subject, a table of its components and its alerts; each number leads to the board that has more.",
	Variables:   []Variable{topology, component, reporting},
	Rows: []Row{
		{"Is all well?", []Panel{
			{Kind: Number, Title: "Filter latency, p99", Unit: Seconds, Limit: latencyLimit, Leads: "latency",
				Queries:     one(`histogram_quantile(0.99, sum(rate(bullet_filter_latency_seconds{topology="$topology"}[$__rate_interval])))`, "p99"),
				Description: "The 99th percentile of the latency hook's histogram over all records; red from 200 ms on. A click leads to latency."},
			{Kind: Number, Title: "Queries", Unit: Count, Leads: "figures", Queries: one(`sum(bullet_active_queries{topology="$topology",component="JoinBolt"})`, "running"),
				Description: "Queries that JoinBolt's tasks hold now. A click leads to Figures 1 to 4."},
			{Kind: Number, Title: "Records a second", Unit: Rate, Leads: "tuple-flow", Queries: one("sum("+rate("bullet_source_records_total"+ofTopology)+")", "records"),
				Description: "Records a second from the data source, all tasks together. A click leads to the tuple flow."},
			{Kind: Number, Title: "Busiest component", Unit: Share, Limit: 1, Leads: "queues",
				Queries:     one("max("+strings.ReplaceAll(capacity, chosen, ofTopology)+")", "busiest"),
				Description: "Share of its time that the busiest bolt's busiest task spends executing." + sampledNote + " A click leads to the queues."},
			{Kind: Number, Title: "Garbage collection pauses, worst worker", Unit: Share, Limit: 0.1, Leads: "gc", Queries: one("max("+allGC+")", "worst"),
				Description: "Share of its time that collections pause the worst worker; red from 10% on. A click leads to garbage collection."},
			{Kind: Number, Title: "Newest sample", Unit: Seconds, Limit: 120, Leads: "collector",
				Queries:     one(`time() - max(timestamp(bullet_worker_heap_used_bytes{topology="$topology"}))`, "age"),
				Description: "How long ago the end of the topology's newest slice is; red from two minutes on. A click leads to the collector."},
		}},
		{"What fires?", []Panel{
			{Kind: Table, Title: "Alerts", Unit: None,
				Queries:     one(`ALERTS{topology=~"$topology|",alertname!="BulletMetricsWatchdog"}`, ""),
				Columns:     map[string]string{"Time": "", "Value": "", "__name__": "", "topology": "", "alertname": "Alert", "alertstate": "State", "severity": "Severity", "worker": "Worker", "class": "Class"},
				Description: "Alerts of this topology, and of the collector, that are pending or firing now: as whoever evaluates the rules has them, the collector or a Prometheus. Each has a runbook at the collector's /runbooks/."},
		}},
		{"Which component is it?", []Panel{
			{Kind: Table, Title: "Components", Unit: Share, Limit: 1, Bars: []string{"Busy", "Receive queue"},
				Columns:     map[string]string{"Time": "", "component": "Component", "Value #A": "Busy", "Value #B": "Receive queue"},
				Queries:     []Query{{"max by (component) (" + capacity + ")", ""}, {"max by (component) (" + receiveFull + ")", ""}},
				Description: "Of each component the share of its time that the busiest task spends executing, and how full the fullest receive queue is: at 100% it cannot take more." + sampledNote},
		}},
		{"Which machine is it?", []Panel{
			{Kind: Table, Title: "Hosts", Unit: Share, Limit: 1, Bars: []string{"All", "Workers", "Steal"},
				Columns:     map[string]string{"Time": "", "host": "Host", "Value #A": "All", "Value #B": "Workers", "Value #C": "Steal"},
				Queries:     []Query{{hostShare, ""}, {workerShare, ""}, {stealShare, ""}},
				Description: "Of each machine that has workers the share of its CPU time that is used, by the topology's workers and by all, and that its hypervisor gives to others (steal). Figures 1 to 4 have them over time."},
		}},
	},
}
