package dashboard

const ofComponents = `{topology="$topology",component=~"$component"})`

const (
	// boltWait leaves out who executes nothing: spouts.
	boltWait = "max by (component) (storm_receive_queue_sojourn_seconds" + ofComponents + ` and on (component) sum by (component) (rate(storm_executed_total{topology="$topology",component=~"$component"}[$__rate_interval]))`
	// executeTime leaves out topologies that have a capacity, which is from Storm 2.3 on.
	executeTime  = "max by (component) (storm_execute_latency_seconds" + ofComponents + ` unless on () count(storm_capacity_ratio{topology="$topology"})`
	threeSamples = "Empty from 2.3 on, where Storm's figure is the mean of the last three tuples that it sampled, in whole milliseconds, and tells nothing."
)

// queues asks where tuples wait.
var queues = Board{
	Name: "queues", Title: "Bullet: queues",
	Description: "Where tuples wait: receive queues of executors, transfer queues of workers and, on Storm 1.x, send queues; how full they are and how long a tuple waits beside how long it is worked on.",
	Variables:   []Variable{topology, component, reporting},
	Rows: []Row{
		{"Who is saturated?", []Panel{
			{Kind: Lines, Title: "Capacity", Unit: Share, Limit: 1, Description: "Share of its time that a bolt's busiest task spends executing; at 100%, the line, it cannot take more." + sampledNote, Queries: one("max by (component) (storm_capacity_ratio"+ofComponents, "{{component}}")},
			{Kind: Lines, Title: "Receive queue: how full", Unit: Share, Limit: 1, Description: "Population over capacity of the component's fullest receive queue; at 100%, the line, whoever sends to it waits.", Queries: one("max by (component) (storm_receive_queue_full_ratio"+ofComponents, "{{component}}")},
		}},
		{"Does a tuple wait or is it worked on?", []Panel{
			{Kind: Lines, Title: "Wait in the receive queue", Unit: Seconds, Description: "Time that a tuple spends in the receive queue of the bolt's worst task, as Storm makes it from population and arrivals: of few tuples it tells little, and of a spout, to which acks come, nothing. Beside it the time in execute().", Queries: one(boltWait, "{{component}}")},
			{Kind: Lines, Title: "Time in execute()", Unit: Seconds, Description: "Storm's mean time in execute(), of the component's slowest task, until Storm 2.2. " + threeSamples + sampledNote, Queries: one(executeTime, "{{component}}")},
		}},
		{"What waits, and what does not fit?", []Panel{
			{Kind: Lines, Title: "Receive queue: tuples waiting", Unit: Count, Description: "Tuples in all receive queues of a component.", Queries: one("sum by (component) (storm_receive_queue_population"+ofComponents, "{{component}}")},
			{Kind: Lines, Title: "Receive queue: behind a full queue", Unit: Count, Description: "Tuples that wait behind full receive queues, of a component.", Queries: one("sum by (component) (storm_receive_queue_overflow_population"+ofComponents, "{{component}}")},
			{Kind: Lines, Title: "Receive queue: arrivals", Unit: Rate, Width: 8, Description: "Tuples a second that arrive at all receive queues of a component.", Queries: one("sum by (component) (storm_receive_queue_arrivals_per_second"+ofComponents, "{{component}}")},
			{Kind: Lines, Title: "Receive queue: failed inserts", Unit: Rate, Width: 8, Description: "Attempts a second to insert that found the queue full.", Queries: one("sum by (component) (storm_receive_queue_insert_failures_per_second"+ofComponents, "{{component}}")},
			{Kind: Lines, Title: "Receive queue: messages dropped", Unit: Rate, Width: 8, Description: "Messages a second dropped since the overflow was full.", Queries: one(`sum by (component) (rate(storm_receive_queue_dropped_messages_total{topology="$topology",component=~"$component"}[$__rate_interval]))`, "{{component}}")},
			{Kind: Lines, Title: "Receive queue: capacity", Unit: Count, Width: 24, Height: 6, Description: "Tuples that one receive queue holds (topology.executor.receive.buffer.size).", Queries: one("max by (component) (storm_receive_queue_capacity"+ofComponents, "{{component}}")},
		}},
		{"Does it wait to leave the worker?", []Panel{
			{Kind: Lines, Title: "Transfer queue: messages waiting", Unit: Count, Width: 8, Description: "Messages that wait to be sent to other workers.", Queries: one(`max by (worker) (storm_transfer_queue_population{topology="$topology"})`, "{{worker}}")},
			{Kind: Lines, Title: "Transfer queue: how full", Unit: Share, Limit: 1, Width: 8, Description: "Population over capacity of a worker's transfer queue.", Queries: one(`max by (worker) (storm_transfer_queue_full_ratio{topology="$topology"})`, "{{worker}}")},
			{Kind: Lines, Title: "Transfer queue: wait", Unit: Seconds, Width: 8, Description: "Time that a message spends in the transfer queue.", Queries: one(`max by (worker) (storm_transfer_queue_sojourn_seconds{topology="$topology"})`, "{{worker}}")},
			{Kind: Lines, Title: "Transfer queue: messages dropped", Unit: Rate, Description: "Messages a second dropped since the overflow was full.", Queries: one(`sum by (worker) (rate(storm_transfer_queue_dropped_messages_total{topology="$topology"}[$__rate_interval]))`, "{{worker}}")},
			{Kind: Lines, Title: "Send queue: tuples waiting (Storm 1.x)", Unit: Count, Description: "Tuples in the send queues of a component's executors. Empty from Storm 2.0 on.", Queries: one("sum by (component) (storm_send_queue_population"+ofComponents, "{{component}}")},
		}},
	},
}
