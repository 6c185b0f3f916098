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
	threeSamples = "Measured by the plugin's latency hook. Without the hook, Storm's value is used up to Storm 2.2; later versions report no usable value."
)

// capacity is the busy share of each task.
var capacity = busy.Query(`topology="$topology"`, `component=~"$component"`, "$__rate_interval")

// queues is the board about waiting tuples.
var queues = Board{
	Name: "queues", Title: "Bullet: queues",
	Description: "Usage of the receive queues of executors and the transfer queues of workers, waiting times, and execute times. Storm 1.x also has send queues.",
	Variables:   []Variable{topology, component, reporting},
	Rows: []Row{
		{"Which component is saturated?", []Panel{
			{Kind: Lines, Title: "Capacity", Unit: Share, Limit: 1, Queries: one("max by (component) ("+capacity+")", "{{component}}"),
				Description: "Share of time that a bolt's busiest task spends in execute(). At 100% (line), it cannot process more. From Storm 2.3 on, this is Storm's own value over ten minutes; earlier, calls multiplied by the time per call. Tasks with too few tuples, or with values that the worker's CPU time contradicts, are not shown." + sampledNote},
			{Kind: Lines, Title: "Receive queue: usage", Unit: Share, Limit: 1, Queries: one("max by (component) ("+receiveFull+")", "{{component}}"),
				Description: "Usage of the component's fullest receive queue. At 100% (line), its senders wait."},
		}},
		{"Do tuples wait, or is processing slow?", []Panel{
			{Kind: Lines, Title: "Wait in the receive queue, and time in execute()", Unit: Seconds, Width: 24,
				Description: "Time in the receive queue of the bolt's slowest task, and mean time in execute() of the slowest task. Storm estimates the wait from population and arrivals; with few tuples, the estimate is poor. " + threeSamples + sampledNote, Queries: []Query{
					{boltWait, "{{component}} waits"},
					{hookTime, "{{component}} executes"},
					{stormTime, "{{component}} executes"}}},
		}},
		{"Are receive queues full?", []Panel{
			{Kind: Lines, Title: "Receive queue: tuples waiting", Unit: Count, Queries: each("sum", "component", "storm_receive_queue_population"+chosen),
				Description: "Tuples in all receive queues of a component."},
			{Kind: Lines, Title: "Receive queue: overflow", Unit: Count, Queries: each("sum", "component", "storm_receive_queue_overflow_population"+chosen),
				Description: "Tuples that wait because a receive queue of the component is full."},
			{Kind: Lines, Title: "Receive queue: arrivals", Unit: Rate, Width: 8, Queries: each("sum", "component", "storm_receive_queue_arrivals_per_second"+chosen),
				Description: "Tuples per second that arrive at all receive queues of a component."},
			{Kind: Lines, Title: "Receive queue: insert failures and drops", Unit: Rate, Width: 8,
				Description: "Failed inserts per second because the queue was full (Storm 1.x: growth of the overflow), and messages per second dropped because the overflow was full (never in Storm 1.x).", Queries: []Query{
					{"sum by (component) (" + foundFull + ")", "{{component}}"},
					{"sum by (component) (rate(storm_receive_queue_dropped_messages_total" + chosen + "[$__rate_interval]))", "{{component}} dropped"}}},
			{Kind: Lines, Title: "Receive queue: capacity", Unit: Count, Width: 8, Queries: each("max", "component", "storm_receive_queue_capacity"+chosen),
				Description: "Maximum number of tuples in one receive queue (topology.executor.receive.buffer.size)."},
		}},
		{"Do messages wait to leave the worker?", []Panel{
			{Kind: Lines, Title: "Transfer queue: messages waiting", Unit: Count,
				Description: "Messages waiting to be sent to other workers. For Storm 1.x, also tuples in the send queues of executors.", Queries: []Query{
					{"max by (worker) (storm_transfer_queue_population" + ofTopology + ")", "{{worker}}"},
					{"sum by (component) (storm_send_queue_population" + ofComponents, "{{component}}, send queue"}}},
			{Kind: Lines, Title: "Transfer queue: usage", Unit: Share, Limit: 1, Queries: one("max by (worker) ("+transferFull+")", "{{worker}}"),
				Description: "Usage of a worker's transfer queue."},
			{Kind: Lines, Title: "Transfer queue: wait", Unit: Seconds, Queries: one("max by (worker) (storm_transfer_queue_sojourn_seconds"+ofTopology+")", "{{worker}}"),
				Description: "Time that a message spends in the transfer queue."},
			{Kind: Lines, Title: "Transfer queue: arrivals and drops", Unit: Rate,
				Description: "Messages per second that arrive at a worker's transfer queue, and that were dropped because its overflow was full (never in Storm 1.x).", Queries: []Query{
					{"sum by (worker) (storm_transfer_queue_arrivals_per_second" + ofTopology + ")", "{{worker}}"},
					{"sum by (worker) (rate(storm_transfer_queue_dropped_messages_total" + ofTopology + "[$__rate_interval]))", "{{worker}} dropped"}}},
		}},
	},
}
