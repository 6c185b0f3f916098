package dashboard

const perComponent = `{topology="$topology",component=~"$component"}[$__rate_interval]))`

// lagOfPartition takes the greater where two tasks report a partition, as around a rebalance.
const lagOfPartition = `max by (topic, partition) (bullet_source_partition_lag_records{topology="$topology"})`

// flow follows the tuples.
var flow = Board{
	Name: "tuple-flow", Title: "Bullet: tuple flow",
	Description: "How many records come in, what passes from component to component and between workers, how long it takes and what fails.",
	Variables:   []Variable{topology, component, reporting},
	Rows: []Row{
		{"What comes in?", []Panel{
			{Kind: Lines, Title: "Records read", Unit: Rate, Width: 8,
				Description: "Records a second that each component reads from its data source.",
				Queries: one(`sum by (component) (rate(bullet_source_records_total{topology="$topology"}[$__rate_interval]))`,
					"{{component}}")},
			{Kind: Lines, Title: "Bytes read", Unit: BytesRate, Width: 8,
				Description: "Bytes a second from the data source, all tasks together.",
				Queries: one(`sum(rate(bullet_source_bytes_total{topology="$topology"}[$__rate_interval]))`,
					"bytes")},
			{Kind: Lines, Title: "Records not read yet", Unit: Count, Width: 8,
				Description: "Records that the data source holds and that were not read: growth is falling behind (BulletSourceFallingBehind).",
				Queries:     one(`sum(bullet_source_lag_records{topology="$topology"})`, "lag")},
			{Kind: Lines, Title: "Lag a Kafka partition", Unit: Count,
				Description: "Records of a partition that Storm's KafkaSpout has not committed yet: one that grows alone has a slow task or a hot key, all of them a topology that falls behind. Empty for a source of another kind.",
				Queries:     one(lagOfPartition, "{{topic}} {{partition}}")},
			{Kind: Table, Title: "Kafka partitions", Unit: Count, Width: 12,
				Description: "Records of each partition that are not committed at the end of the time range, and the task that reads it.",
				Columns: map[string]string{"Time": "", "topic": "Topic", "partition": "Partition",
					"component": "Component", "task": "Task", "Value": "Lag"},
				Queries: one(`sort_desc(max by (topic, partition, component, task) (bullet_source_partition_lag_records{topology="$topology"}))`,
					"")},
			{Kind: Lines, Title: "Records left out or read again", Unit: Rate, Width: 24,
				Description: "Records a second that did not enter the topology, by reason, and those that the same task had read before.",
				Queries: []Query{
					{`sum by (reason) (rate(bullet_source_left_out_records_total{topology="$topology"}[$__rate_interval]))`,
						"left out: {{reason}}"},
					{`sum(rate(bullet_source_repeated_records_total{topology="$topology"}[$__rate_interval]))`,
						"read again"},
				}},
		}},
		{"What passes from component to component?", []Panel{
			{Kind: Lines, Title: "Emitted", Unit: Rate, Description: "Tuples a second that a component emits." +
				sampledNote, Queries: one("sum by (component) (rate(storm_emitted_total"+perComponent,
				"{{component}}")},
			{Kind: Lines, Title: "Executed", Unit: Rate, Description: "Tuples a second that a bolt executes." +
				sampledNote, Queries: one("sum by (component) (rate(storm_executed_total"+perComponent,
				"{{component}}")},
			{Kind: Lines, Title: "Transferred", Unit: Rate,
				Description: "Tuples a second that a component sends to other tasks; an emitted tuple goes to as many as its groupings say." + sampledNote,
				Queries:     one("sum by (component) (rate(storm_transferred_total"+perComponent, "{{component}}")},
			{Kind: Lines, Title: "Acknowledged", Unit: Rate,
				Description: "Tuples a second that a component acknowledges." + sampledNote,
				Queries:     one("sum by (component) (rate(storm_acked_total"+perComponent, "{{component}}")},
		}},
		{"What fails?", []Panel{
			{Kind: Lines, Title: "Failed tuples", Unit: Rate,
				Description: "Tuples a second that failed, or were not acknowledged in time." + sampledNote,
				Queries:     one("sum by (component) (rate(storm_failed_total"+perComponent, "{{component}}")},
			{Kind: Lines, Title: "Reported errors", Unit: Rate,
				Description: "Errors a second that a component reported to Storm.",
				Queries:     one("sum by (component) (rate(storm_reported_errors_total"+perComponent, "{{component}}")},
		}},
		{"How long does a tuple take?", []Panel{
			{Kind: Lines, Title: "Execute latency", Unit: Seconds, Width: 8,
				Description: "Mean time in execute(), of the component's slowest task. " +
					threeSamples + sampledNote, Queries: []Query{{hookTime, "{{component}}"}, {stormTime, "{{component}}"}}},
			{Kind: Lines, Title: "Process latency", Unit: Seconds, Width: 8,
				Description: "Storm's mean time from a tuple's arrival to its acknowledgement, of the component's slowest task." + sampledNote,
				Queries: one(`max by (component) (storm_process_latency_seconds{topology="$topology",component=~"$component"})`,
					"{{component}}")},
			{Kind: Lines, Title: "Complete latency", Unit: Seconds, Width: 8,
				Description: "Storm's mean time from a spout's emission to the acknowledgement of the tuple's whole tree, of the slowest task." + sampledNote,
				Queries: one(`max by (component) (storm_complete_latency_seconds{topology="$topology",component=~"$component"})`,
					"{{component}}")},
		}},
		{"Who holds the spouts back?", []Panel{
			{Kind: Lines, Title: "Time for which spouts were not asked", Unit: Share,
				Description: "Seconds a second, of the task that waits most, by reason: max_spout_pending (too much under way), backpressure (a queue was full), inactive.",
				Queries: one(`max by (component, reason) (rate(storm_skipped_seconds_total{topology="$topology",component=~"$component"}[$__rate_interval]))`,
					"{{component}} {{reason}}")},
			{Kind: Lines, Title: "Times that spouts were not asked (Storm 1.x)", Unit: Rate,
				Description: "Calls a second that were skipped, by reason; Storm 1.x counts calls, not time. Empty from 2.0 on.",
				Queries: one(`sum by (component, reason) (rate(storm_skipped_calls_total{topology="$topology",component=~"$component"}[$__rate_interval]))`,
					"{{component}} {{reason}}")},
		}},
		{"What goes between workers?", []Panel{
			{Kind: Lines, Title: "Messages sent", Unit: Rate, Width: 8,
				Description: "Messages a second from a worker to all others.",
				Queries: one(`sum by (worker) (rate(storm_connection_sent_messages_total{topology="$topology"}[$__rate_interval]))`,
					"{{worker}}")},
			{Kind: Lines, Title: "Messages lost, connections tried again", Unit: Rate, Width: 8,
				Description: "Messages a second lost while being sent, and attempts a second to connect, of all workers.",
				Queries: []Query{
					{`sum(rate(storm_connection_lost_messages_total{topology="$topology"}[$__rate_interval]))`, "lost"},
					{`sum(rate(storm_connection_reconnects_total{topology="$topology"}[$__rate_interval]))`,
						"reconnects"},
				}},
			{Kind: Lines, Title: "Messages not sent yet", Unit: Count, Width: 8,
				Description: "Messages that wait to be sent to other workers.",
				Queries: one(`sum by (worker) (storm_connection_pending_messages{topology="$topology"})`,
					"{{worker}}")},
		}},
		{"Who shares a worker?", []Panel{
			{Kind: Table, Title: "Tasks, by worker and component", Unit: Count,
				Description: "Tasks of each component in each worker at the end of the time range.",
				Columns: map[string]string{"Time": "", "Value": "Tasks", "worker": "Worker",
					"component": "Component"},
				Queries: one(`count by (worker, component) (storm_receive_queue_population{topology="$topology",component=~"$component"})`,
					"")},
		}},
	},
}
