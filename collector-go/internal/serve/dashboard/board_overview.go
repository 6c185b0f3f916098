package dashboard

import "strings"

// overview is the board to start with. It has one number per subject, which links to the board of the subject, the
// firing alerts, and a table of the components. It has no time series that another board has.
var overview = Board{
	Name: "overview", Title: "Bullet: overview",
	Description: "State of a topology: key numbers, alerts, components and hosts. Click a number to open its dashboard.",
	Variables:   []Variable{topology, component, reporting},
	Rows: []Row{
		{"Is the topology healthy?", []Panel{
			{Kind: Number, Title: "Filter latency, p99", Unit: Seconds, Limit: latencyLimit, Leads: "latency",
				Queries:     one(`histogram_quantile(0.99, sum(rate(bullet_filter_latency_seconds{topology="$topology"}[$__rate_interval])))`, "p99"),
				Description: "99th percentile of the latency hook over all records. Red above 200 ms. Click to open the latency dashboard."},
			{Kind: Number, Title: "Running queries", Unit: Count, Leads: "figures", Queries: one(`sum(bullet_active_queries{topology="$topology",component="JoinBolt"})`, "running"),
				Description: "Queries that run now. Click to open Figures 1 to 4."},
			{Kind: Number, Title: "Records read per second", Unit: Rate, Leads: "tuple-flow", Queries: one("sum("+rate("bullet_source_records_total"+ofTopology)+")", "records"),
				Description: "Records per second from the data source, over all tasks. Click to open the tuple flow."},
			{Kind: Number, Title: "Busiest component", Unit: Share, Limit: 1, Leads: "queues",
				Queries:     one("max("+strings.ReplaceAll(capacity, chosen, ofTopology)+")", "busiest"),
				Description: "Share of time that the busiest task spends in execute()." + sampledNote + " Click to open the queues."},
			{Kind: Number, Title: "Garbage collection pauses, worst worker", Unit: Share, Limit: 0.1, Leads: "gc", Queries: one("max("+allGC+")", "worst"),
				Description: "Share of time that garbage collection pauses the worst worker. Red above 10%. Click to open garbage collection."},
			{Kind: Number, Title: "Newest sample", Unit: Seconds, Limit: 120, Leads: "collector",
				Queries:     one(`time() - max(timestamp(bullet_worker_heap_used_bytes{topology="$topology"}))`, "age"),
				Description: "Age of the topology's newest slice. Red above 2 minutes. Click to open the collector dashboard."},
		}},
		{"Which alerts are active?", []Panel{
			{Kind: Table, Title: "Alerts", Unit: None,
				Queries:     one(`ALERTS{topology=~"$topology|",alertname!="BulletMetricsWatchdog"}`, ""),
				Columns:     map[string]string{"Time": "", "Value": "", "__name__": "", "topology": "", "alertname": "Alert", "alertstate": "State", "severity": "Severity", "worker": "Worker", "class": "Class"},
				Description: "Pending and firing alerts of this topology and of the collector. The collector serves a runbook for each alert at /runbooks/."},
		}},
		{"Which component is busy?", []Panel{
			{Kind: Table, Title: "Components", Unit: Share, Limit: 1, Bars: []string{"Busy", "Receive queue"},
				Columns:     map[string]string{"Time": "", "component": "Component", "Value #A": "Busy", "Value #B": "Receive queue"},
				Queries:     []Query{{"max by (component) (" + capacity + ")", ""}, {"max by (component) (" + receiveFull + ")", ""}},
				Description: "Busy share of each component's busiest task, and usage of its fullest receive queue. At 100%, it cannot process more." + sampledNote},
		}},
		{"Which host is busy?", []Panel{
			{Kind: Table, Title: "Hosts", Unit: Share, Limit: 1, Bars: []string{"All", "Workers", "Steal"},
				Columns:     map[string]string{"Time": "", "host": "Host", "Value #A": "All", "Value #B": "Workers", "Value #C": "Steal"},
				Queries:     []Query{{hostShare, ""}, {workerShare, ""}, {stealShare, ""}},
				Description: "CPU usage of each host, of the topology's workers on it, and CPU time that the hypervisor gives to other machines (steal). Figures 1 to 4 show them over time."},
		}},
	},
}
