package tuning

import "fmt"

// SpoutPending is how many records can be on their way: Storm counts batches where a spout emits batches.
type SpoutPending struct {
	BatchSize int `json:"batch_size"`
	// MaxSpoutPending is 0 where topology.max.spout.pending is not set: nothing is bounded then.
	MaxSpoutPending int `json:"max_spout_pending"`
	// RecordsPerSpout is batch size x topology.max.spout.pending; RecordsInAll is that of all spouts together.
	RecordsPerSpout int `json:"records_per_spout"`
	Spouts          int `json:"spouts"`
	RecordsInAll    int `json:"records_in_all"`
	// FilterBoltsPerSpout is the fan-out from the spouts of records to the filter bolts.
	FilterBoltsPerSpout Figure   `json:"filter_bolts_per_spout"`
	KafkaPartitions     int      `json:"kafka_partitions,omitempty"`
	Warnings            []string `json:"warnings"`
}

// PendingOf is the arithmetic of max spout pending, which may be 0 for not set; partitions and filterBolts may be 0 for
// not known.
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
			fmt.Sprintf("%d spouts read %d Kafka partitions: %d of them have nothing to read", spouts, partitions,
				spouts-partitions))
	}
	return p
}

// CountPending adds what max spout pending means for the table's spout of records: the first component that is called a
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
		r.Notes = append(r.Notes,
			"no component is called \"DataSource spout\", so max spout pending cannot be counted over the spouts")
	}
	pending := PendingOf(batchSize, maxSpoutPending, spouts, filters, partitions)
	r.Spouts = &pending
}
