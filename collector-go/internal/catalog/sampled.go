package catalog

// sampledMetrics are what Storm counts or times on a sample of the tuples (topology.stats.sample.rate, 0.05 unless set), scaled
// up: org.apache.storm.stats and, from 2.3, org.apache.storm.metrics2.TaskMetrics.
var sampledMetrics = map[string]bool{
	"storm_emitted_total": true, "storm_transferred_total": true, "storm_acked_total": true, "storm_failed_total": true, "storm_executed_total": true,
	"storm_execute_latency_seconds": true, "storm_process_latency_seconds": true, "storm_complete_latency_seconds": true, "storm_capacity_ratio": true,
}

func (c *canonical) sampled() bool { return sampledMetrics[c.name] }

// description is the help, with a mark where the figure is an estimate.
func (c *canonical) description() string {
	if c.sampled() {
		return c.help + " [sampled: an estimate from a sample of the tuples, exact only where topology.stats.sample.rate is 1.0]"
	}
	return c.help
}
