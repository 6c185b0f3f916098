package tuning

import "fmt"

// SpoutPending is how many records can be in flight. If a spout emits batches, Storm counts batches.
type SpoutPending struct {
	BatchSize int `json:"batch_size"`
	// MaxSpoutPending is 0 if topology.max.spout.pending is not set, so that there is no bound.
	MaxSpoutPending int `json:"max_spout_pending"`
	// RecordsPerSpout is batch size x topology.max.spout.pending; RecordsInAll is the sum over all spouts.
	RecordsPerSpout int `json:"records_per_spout"`
	Spouts          int `json:"spouts"`
	RecordsInAll    int `json:"records_in_all"`
	// FilterBoltsPerSpout is the fan-out from the record spouts to the filter bolts.
	FilterBoltsPerSpout Figure   `json:"filter_bolts_per_spout"`
	KafkaPartitions     int      `json:"kafka_partitions,omitempty"`
	Warnings            []string `json:"warnings"`
}

// PendingOf computes the effect of max spout pending, where 0 means not set. partitions and filterBolts may be 0 if
// unknown.
func PendingOf(batchSize, maxSpoutPending, spouts, filterBolts, partitions int) SpoutPending {
	p := SpoutPending{BatchSize: batchSize, MaxSpoutPending: maxSpoutPending,
		RecordsPerSpout: batchSize * maxSpoutPending, Spouts: spouts,
		RecordsInAll: batchSize * maxSpoutPending * spouts, FilterBoltsPerSpout: Unknown, KafkaPartitions: partitions,
		Warnings: []string{}}
	if filterBolts > 0 && spouts > 0 {
		p.FilterBoltsPerSpout = Figure(filterBolts) / Figure(spouts)
	}
	if partitions > 0 && spouts > partitions {
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("%d spouts read %d Kafka partitions, so %d of them have no partition", spouts, partitions,
				spouts-partitions))
	}
	return p
}

// CountPending sets the effect of max spout pending for the table's record spout: the component that is called a
// DataSource, DSL or Bullet spout.
func (r *Resources) CountPending(batchSize, maxSpoutPending, partitions int) {
	spouts, filters := 0, 0
	for _, c := range r.Components {
		switch plainName(c.Component) {
		case "datasourcespout", "datasource", "dslspout", "bulletspout":
			spouts = c.Parallelism
		case filterBolt:
			filters = c.Parallelism
		}
	}
	if spouts == 0 {
		r.Notes = append(r.Notes, "max spout pending was not added up over the spouts, because no component is called \"DataSource spout\"")
	}
	pending := PendingOf(batchSize, maxSpoutPending, spouts, filters, partitions)
	r.Spouts = &pending
}
