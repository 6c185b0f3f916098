package dashboard

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/busy"

const (
	chosen       = `{topology="$topology",component=~"$component"}`
	ofComponents = chosen + ")"

	// From Storm 2.0 on, Storm reports the fill ratio itself.
	receiveFull = "(storm_receive_queue_full_ratio" + chosen + " or storm_receive_queue_population" + chosen +
		" / storm_receive_queue_capacity" + chosen + ")"
	transferFull = "(storm_transfer_queue_full_ratio" + ofTopology + " or storm_transfer_queue_population" +
		ofTopology + " / storm_transfer_queue_capacity" + ofTopology + ")"
	// If a queue is full, Storm 2.0 and later count a failed insert. Storm 1 puts the tuple into an overflow list,
	// which grows.
	foundFull = "(storm_receive_queue_insert_failures_per_second" + chosen +
		" or clamp_min(deriv(storm_receive_queue_overflow_population" + chosen + "[$__rate_interval]), 0))"

	// boltWait excludes spouts, which execute nothing.
	boltWait = "max by (component) (storm_receive_queue_sojourn_seconds" + ofComponents +
		" and on (component) count by (component) (storm_execute_latency_seconds" + ofComponents
	// hookTime is the mean time of a tuple in execute() according to the latency hook. stormTime is the same according
	// to Storm up to 2.2, for topologies without the hook. These versions have no capacity metric.
	hookTime = "max by (component) (sum by (component, task) (rate(bullet_execute_seconds_total" + chosen +
		"[$__rate_interval])) / sum by (component, task) (rate(storm_executed_total" + chosen +
		"[$__rate_interval])))"
	stormTime = "max by (component) (storm_execute_latency_seconds" + ofComponents +
		" unless on () count(storm_capacity_ratio" + ofTopology + ") unless on (component) rate(bullet_execute_seconds_total" +
		chosen + "[$__rate_interval])"
	threeSamples = "By the plugin's latency hook; without it by Storm until 2.2, and empty later, where Storm's figure is the mean of the last three tuples that it sampled, in whole milliseconds, and says nothing."
)

// capacity is the busy share of each task.
var capacity = busy.Query(`topology="$topology"`, `component=~"$component"`, "$__rate_interval")

// queues is the board about waiting tuples.
var queues = Board{
	Name: "queues", Title: "Bullet: queues",
	Description: "Where tuples wait: receive queues of executors, transfer queues of workers and, on Storm 1.x, send queues; how full they are and how long a tuple waits beside how long it is worked on.",
	Variables:   []Variable{topology, component, reporting},
	Rows: []Row{
		{"Who is saturated?", []Panel{
			{Kind: Lines, Title: "Capacity", Unit: Share, Limit: 1, Queries: one("max by (component) ("+capacity+")", "{{component}}"),
				Description: "Share of its time that a bolt's busiest task spends executing; at 100%, the line, it cannot take more. From Storm 2.3 on it is Storm's own figure, over ten minutes; before, calls of execute() times the time that one takes. Shown only for a task that executed enough tuples (400 where Storm samples one in twenty) and, for Bullet's filter and join bolts, only as far as the worker's CPU allows it." + sampledNote},
			{Kind: Lines, Title: "Receive queue: how full", Unit: Share, Limit: 1, Queries: one("max by (component) ("+receiveFull+")", "{{component}}"),
				Description: "Population over capacity of the component's fullest receive queue; at 100%, the line, whoever sends to it waits."},
		}},
		{"Does a tuple wait or is it worked on?", []Panel{
			{Kind: Lines, Title: "Wait in the receive queue, and time in execute()", Unit: Seconds, Width: 24,
				Description: "Time that a tuple spends in the receive queue of the bolt's worst task, as Storm makes it from population and arrivals: of few tuples it says little, and of a spout, to which acks come, nothing. Beside it the mean time in execute() of the slowest task. " + threeSamples + sampledNote, Queries: []Query{
					{boltWait, "{{component}} waits"},
					{hookTime, "{{component}} executes"},
					{stormTime, "{{component}} executes"}}},
		}},
		{"What waits, and what does not fit?", []Panel{
			{Kind: Lines, Title: "Receive queue: tuples waiting", Unit: Count, Queries: each("sum", "component", "storm_receive_queue_population"+chosen),
				Description: "Tuples in all receive queues of a component."},
			{Kind: Lines, Title: "Receive queue: behind a full queue", Unit: Count, Queries: each("sum", "component", "storm_receive_queue_overflow_population"+chosen),
				Description: "Tuples that wait behind full receive queues, of a component."},
			{Kind: Lines, Title: "Receive queue: arrivals", Unit: Rate, Width: 8, Queries: each("sum", "component", "storm_receive_queue_arrivals_per_second"+chosen),
				Description: "Tuples a second that arrive at all receive queues of a component."},
			{Kind: Lines, Title: "Receive queue: found full, dropped", Unit: Rate, Width: 8,
				Description: "Attempts a second to insert that found the queue full, in Storm 1 tuples a second by which what waits behind it grows; and messages a second dropped since the overflow was full, which Storm 1 does not do.", Queries: []Query{
					{"sum by (component) (" + foundFull + ")", "{{component}}"},
					{"sum by (component) (rate(storm_receive_queue_dropped_messages_total" + chosen + "[$__rate_interval]))", "{{component}} drops"}}},
			{Kind: Lines, Title: "Receive queue: capacity", Unit: Count, Width: 8, Queries: each("max", "component", "storm_receive_queue_capacity"+chosen),
				Description: "Tuples that one receive queue holds (topology.executor.receive.buffer.size)."},
		}},
		{"Does it wait to leave the worker?", []Panel{
			{Kind: Lines, Title: "Transfer queue: messages waiting", Unit: Count,
				Description: "Messages that wait to be sent to other workers; of Storm 1.x also tuples in the send queues of a component's executors, on the way there.", Queries: []Query{
					{"max by (worker) (storm_transfer_queue_population" + ofTopology + ")", "{{worker}}"},
					{"sum by (component) (storm_send_queue_population" + ofComponents, "{{component}}, send queue"}}},
			{Kind: Lines, Title: "Transfer queue: how full", Unit: Share, Limit: 1, Queries: one("max by (worker) ("+transferFull+")", "{{worker}}"),
				Description: "Population over capacity of a worker's transfer queue."},
			{Kind: Lines, Title: "Transfer queue: wait", Unit: Seconds, Queries: one("max by (worker) (storm_transfer_queue_sojourn_seconds"+ofTopology+")", "{{worker}}"),
				Description: "Time that a message spends in the transfer queue."},
			{Kind: Lines, Title: "Transfer queue: arrivals, dropped", Unit: Rate,
				Description: "Messages a second that arrive at a worker's transfer queue, and that were dropped since its overflow was full, which Storm 1 does not do.", Queries: []Query{
					{"sum by (worker) (storm_transfer_queue_arrivals_per_second" + ofTopology + ")", "{{worker}}"},
					{"sum by (worker) (rate(storm_transfer_queue_dropped_messages_total" + ofTopology + "[$__rate_interval]))", "{{worker}} drops"}}},
		}},
	},
}
