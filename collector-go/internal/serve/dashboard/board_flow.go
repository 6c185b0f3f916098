package dashboard

// lagOfPartition uses the maximum if two tasks report the same partition, which happens around a rebalance.
const lagOfPartition = `max by (topic, partition) (bullet_source_partition_lag_records{topology="$topology"})`

// flow is the board about the flow of tuples through the topology.
var flow = Board{
	Name: "tuple-flow", Title: "Bullet: tuple flow",
	Description: "Records read, tuples between components and workers, their latency, and failures.",
	Variables:   []Variable{topology, component, reporting},
	Rows: []Row{
		{"What does the topology read?", []Panel{
			{Kind: Lines, Title: "Records read", Unit: Rate, Width: 8, Queries: each("sum", "component", rate("bullet_source_records_total"+ofTopology)),
				Description: "Records per second that each component reads from its data source."},
			{Kind: Lines, Title: "Bytes read", Unit: BytesRate, Width: 8, Queries: one("sum("+rate("bullet_source_bytes_total"+ofTopology)+")", "bytes"),
				Description: "Bytes per second from the data source, over all tasks."},
			{Kind: Lines, Title: "Source lag", Unit: Count, Width: 8, Queries: one(`sum(bullet_source_lag_records{topology="$topology"})`, "lag"),
				Description: "Unread records in the data source. If this grows, the topology is too slow (BulletSourceFallingBehind)."},
			{Kind: Lines, Title: "Lag by Kafka partition", Unit: Count, Queries: one(lagOfPartition, "{{topic}} {{partition}}"),
				Description: "Records that Storm's KafkaSpout has not committed. If one partition grows alone, its task is slow or it has a hot key. If all grow, the topology is too slow. Empty for other sources."},
			{Kind: Table, Title: "Kafka partitions", Unit: Count, Width: 12,
				Queries:     one(`sort_desc(max by (topic, partition, component, task) (bullet_source_partition_lag_records{topology="$topology"}))`, ""),
				Columns:     map[string]string{"Time": "", "topic": "Topic", "partition": "Partition", "component": "Component", "task": "Task", "Value": "Lag"},
				Description: "Uncommitted records of each partition at the end of the time range, and the task that reads it."},
			{Kind: Lines, Title: "Records skipped or read again", Unit: Rate, Width: 24,
				Description: "Records per second that did not enter the topology, by reason, and records that the same task had read before.", Queries: []Query{
					{`sum by (reason) (rate(bullet_source_left_out_records_total{topology="$topology"}[$__rate_interval]))`, "skipped: {{reason}}"},
					{"sum(" + rate("bullet_source_repeated_records_total"+ofTopology) + ")", "read again"}}},
		}},
		{"What do the components exchange?", []Panel{
			{Kind: Lines, Title: "Emitted", Unit: Rate, Queries: each("sum", "component", rate("storm_emitted_total"+chosen)),
				Description: "Tuples per second that a component emits." + sampledNote},
			{Kind: Lines, Title: "Executed", Unit: Rate, Queries: each("sum", "component", rate("storm_executed_total"+chosen)),
				Description: "Tuples per second that a bolt executes." + sampledNote},
			{Kind: Lines, Title: "Transferred", Unit: Rate, Queries: each("sum", "component", rate("storm_transferred_total"+chosen)),
				Description: "Tuples per second that a component sends to other tasks. The groupings decide to how many tasks an emitted tuple goes." + sampledNote},
			{Kind: Lines, Title: "Acknowledged", Unit: Rate, Queries: each("sum", "component", rate("storm_acked_total"+chosen)),
				Description: "Tuples per second that a component acknowledges." + sampledNote},
		}},
		{"What fails?", []Panel{
			{Kind: Lines, Title: "Failed tuples", Unit: Rate, Queries: each("sum", "component", rate("storm_failed_total"+chosen)),
				Description: "Tuples per second that failed or timed out." + sampledNote},
			{Kind: Lines, Title: "Reported errors", Unit: Rate, Queries: each("sum", "component", rate("storm_reported_errors_total"+chosen)),
				Description: "Errors per second that a component reported to Storm."},
		}},
		{"How long does a tuple take?", []Panel{
			{Kind: Lines, Title: "Execute latency", Unit: Seconds, Width: 8, Queries: []Query{{hookTime, "{{component}}"}, {stormTime, "{{component}}"}},
				Description: "Mean time in execute() of the component's slowest task. " + threeSamples + sampledNote},
			{Kind: Lines, Title: "Process latency", Unit: Seconds, Width: 8, Queries: each("max", "component", "storm_process_latency_seconds"+chosen),
				Description: "Mean time from a tuple's arrival to its acknowledgement, for the component's slowest task." + sampledNote},
			{Kind: Lines, Title: "Complete latency", Unit: Seconds, Width: 8, Queries: each("max", "component", "storm_complete_latency_seconds"+chosen),
				Description: "Mean time from a spout's emission to the acknowledgement of the complete tuple tree, for the slowest task." + sampledNote},
		}},
		{"What throttles the spouts?", []Panel{
			{Kind: Lines, Title: "Time for which spouts are throttled", Unit: Share, Queries: each("max", "component, reason", rate("storm_skipped_seconds_total"+chosen)),
				Description: "Share of time for which the most throttled task was not called, by reason: max_spout_pending (too many tuples in flight), backpressure (a full queue), or inactive."},
			{Kind: Lines, Title: "Skipped calls of spouts (Storm 1.x)", Unit: Rate, Queries: each("sum", "component, reason", rate("storm_skipped_calls_total"+chosen)),
				Description: "Skipped calls per second, by reason. Storm 1.x counts calls instead of time. Empty for Storm 2.0 and later."},
		}},
		{"What do the workers exchange?", []Panel{
			{Kind: Lines, Title: "Messages sent", Unit: Rate, Width: 8, Queries: each("sum", "worker", rate("storm_connection_sent_messages_total"+ofTopology)),
				Description: "Messages per second from a worker to all others."},
			{Kind: Lines, Title: "Lost messages and reconnects", Unit: Rate, Width: 8,
				Description: "Messages per second that were lost while being sent, and connection attempts per second, over all workers.", Queries: []Query{
					{"sum(" + rate("storm_connection_lost_messages_total"+ofTopology) + ")", "lost"},
					{"sum(" + rate("storm_connection_reconnects_total"+ofTopology) + ")", "reconnects"}}},
			{Kind: Lines, Title: "Messages waiting to be sent", Unit: Count, Width: 8, Queries: each("sum", "worker", "storm_connection_pending_messages"+ofTopology),
				Description: "Messages that wait to be sent to other workers."},
		}},
		{"Which components share a worker?", []Panel{
			{Kind: Table, Title: "Tasks, by worker and component", Unit: Count,
				Queries:     one(`count by (worker, component) (storm_receive_queue_population{topology="$topology",component=~"$component"})`, ""),
				Columns:     map[string]string{"Time": "", "Value": "Tasks", "worker": "Worker", "component": "Component"},
				Description: "Number of tasks of each component in each worker at the end of the time range."},
		}},
	},
}
