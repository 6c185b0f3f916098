package dashboard

// lagOfPartition uses the maximum if two tasks report the same partition, which happens around a rebalance.
const lagOfPartition = `max by (topic, partition) (bullet_source_partition_lag_records{topology="$topology"})`

// flow is the board about the flow of tuples through the topology.
var flow = Board{
	Name: "tuple-flow", Title: "Bullet: tuple flow",
	Description: "How many records come in, what passes from component to component and between workers, how long it takes and what fails.",
	Variables:   []Variable{topology, component, reporting},
	Rows: []Row{
		{"What comes in?", []Panel{
			{Kind: Lines, Title: "Records read", Unit: Rate, Width: 8, Queries: each("sum", "component", rate("bullet_source_records_total"+ofTopology)),
				Description: "Records a second that each component reads from its data source."},
			{Kind: Lines, Title: "Bytes read", Unit: BytesRate, Width: 8, Queries: one("sum("+rate("bullet_source_bytes_total"+ofTopology)+")", "bytes"),
				Description: "Bytes a second from the data source, all tasks together."},
			{Kind: Lines, Title: "Records not read yet", Unit: Count, Width: 8, Queries: one(`sum(bullet_source_lag_records{topology="$topology"})`, "lag"),
				Description: "Records that the data source holds and that were not read: growth is falling behind (BulletSourceFallingBehind)."},
			{Kind: Lines, Title: "Lag a Kafka partition", Unit: Count, Queries: one(lagOfPartition, "{{topic}} {{partition}}"),
				Description: "Records of a partition that Storm's KafkaSpout has not committed yet: one that grows alone has a slow task or a hot key, all of them a topology that falls behind. Empty for a source of another kind."},
			{Kind: Table, Title: "Kafka partitions", Unit: Count, Width: 12,
				Queries:     one(`sort_desc(max by (topic, partition, component, task) (bullet_source_partition_lag_records{topology="$topology"}))`, ""),
				Columns:     map[string]string{"Time": "", "topic": "Topic", "partition": "Partition", "component": "Component", "task": "Task", "Value": "Lag"},
				Description: "Records of each partition that are not committed at the end of the time range, and the task that reads it."},
			{Kind: Lines, Title: "Records left out or read again", Unit: Rate, Width: 24,
				Description: "Records a second that did not enter the topology, by reason, and those that the same task had read before.", Queries: []Query{
					{`sum by (reason) (rate(bullet_source_left_out_records_total{topology="$topology"}[$__rate_interval]))`, "left out: {{reason}}"},
					{"sum(" + rate("bullet_source_repeated_records_total"+ofTopology) + ")", "read again"}}},
		}},
		{"What passes from component to component?", []Panel{
			{Kind: Lines, Title: "Emitted", Unit: Rate, Queries: each("sum", "component", rate("storm_emitted_total"+chosen)),
				Description: "Tuples a second that a component emits." + sampledNote},
			{Kind: Lines, Title: "Executed", Unit: Rate, Queries: each("sum", "component", rate("storm_executed_total"+chosen)),
				Description: "Tuples a second that a bolt executes." + sampledNote},
			{Kind: Lines, Title: "Transferred", Unit: Rate, Queries: each("sum", "component", rate("storm_transferred_total"+chosen)),
				Description: "Tuples a second that a component sends to other tasks; an emitted tuple goes to as many as its groupings say." + sampledNote},
			{Kind: Lines, Title: "Acknowledged", Unit: Rate, Queries: each("sum", "component", rate("storm_acked_total"+chosen)),
				Description: "Tuples a second that a component acknowledges." + sampledNote},
		}},
		{"What fails?", []Panel{
			{Kind: Lines, Title: "Failed tuples", Unit: Rate, Queries: each("sum", "component", rate("storm_failed_total"+chosen)),
				Description: "Tuples a second that failed, or were not acknowledged in time." + sampledNote},
			{Kind: Lines, Title: "Reported errors", Unit: Rate, Queries: each("sum", "component", rate("storm_reported_errors_total"+chosen)),
				Description: "Errors a second that a component reported to Storm."},
		}},
		{"How long does a tuple take?", []Panel{
			{Kind: Lines, Title: "Execute latency", Unit: Seconds, Width: 8, Queries: []Query{{hookTime, "{{component}}"}, {stormTime, "{{component}}"}},
				Description: "Mean time in execute(), of the component's slowest task. " + threeSamples + sampledNote},
			{Kind: Lines, Title: "Process latency", Unit: Seconds, Width: 8, Queries: each("max", "component", "storm_process_latency_seconds"+chosen),
				Description: "Storm's mean time from a tuple's arrival to its acknowledgement, of the component's slowest task." + sampledNote},
			{Kind: Lines, Title: "Complete latency", Unit: Seconds, Width: 8, Queries: each("max", "component", "storm_complete_latency_seconds"+chosen),
				Description: "Storm's mean time from a spout's emission to the acknowledgement of the tuple's whole tree, of the slowest task." + sampledNote},
		}},
		{"Who holds the spouts back?", []Panel{
			{Kind: Lines, Title: "Time for which spouts were not asked", Unit: Share, Queries: each("max", "component, reason", rate("storm_skipped_seconds_total"+chosen)),
				Description: "Seconds a second, of the task that waits most, by reason: max_spout_pending (too much under way), backpressure (a queue was full), inactive."},
			{Kind: Lines, Title: "Times that spouts were not asked (Storm 1.x)", Unit: Rate, Queries: each("sum", "component, reason", rate("storm_skipped_calls_total"+chosen)),
				Description: "Calls a second that were skipped, by reason; Storm 1.x counts calls, not time. Empty from 2.0 on."},
		}},
		{"What goes between workers?", []Panel{
			{Kind: Lines, Title: "Messages sent", Unit: Rate, Width: 8, Queries: each("sum", "worker", rate("storm_connection_sent_messages_total"+ofTopology)),
				Description: "Messages a second from a worker to all others."},
			{Kind: Lines, Title: "Messages lost, connections tried again", Unit: Rate, Width: 8,
				Description: "Messages a second lost while being sent, and attempts a second to connect, of all workers.", Queries: []Query{
					{"sum(" + rate("storm_connection_lost_messages_total"+ofTopology) + ")", "lost"},
					{"sum(" + rate("storm_connection_reconnects_total"+ofTopology) + ")", "reconnects"}}},
			{Kind: Lines, Title: "Messages not sent yet", Unit: Count, Width: 8, Queries: each("sum", "worker", "storm_connection_pending_messages"+ofTopology),
				Description: "Messages that wait to be sent to other workers."},
		}},
		{"Who shares a worker?", []Panel{
			{Kind: Table, Title: "Tasks, by worker and component", Unit: Count,
				Queries:     one(`count by (worker, component) (storm_receive_queue_population{topology="$topology",component=~"$component"})`, ""),
				Columns:     map[string]string{"Time": "", "Value": "Tasks", "worker": "Worker", "component": "Component"},
				Description: "Tasks of each component in each worker at the end of the time range."},
		}},
	},
}
