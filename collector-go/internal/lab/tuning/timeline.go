package tuning

// The stages of a record's way through Bullet, as "Tuning and Performance of Bullet in Storm" names them.
const (
	KafkaReceived  = "Kafka Received"
	BulletReceived = "Bullet Received"
	BulletFiltered = "Bullet Filtered"
	QueryReceived  = "Query Received"
	QueryFinished  = "Query Finished"
)

// Stage is when a record reached a stage, relative to Query Received, over all queries; negative is before it.
type Stage struct {
	Name string `json:"stage"`
	// Host is whose clock stamped the stage, "" where that is not known: stages of two hosts are apart by their clocks'
	// skew too.
	Host  string `json:"host,omitempty"`
	Count int    `json:"count"`
	// The mean, the standard deviation, the ends and the percentiles of the delays, ms.
	MeanMs      Figure `json:"mean_ms"`
	DeviationMs Figure `json:"standard_deviation_ms"`
	LeastMs     Figure `json:"least_ms"`
	MedianMs    Figure `json:"median_ms"`
	P95Ms       Figure `json:"p95_ms"`
	MostMs      Figure `json:"most_ms"`
}

// Timeline is what became of the records that a number of queries looked for.
type Timeline struct {
	// Queries were run, Returned of them found their record.
	Queries  int     `json:"queries"`
	Returned int     `json:"returned"`
	Stages   []Stage `json:"stages"`
	// AddedDelay is what Bullet adds: from when both record and query have met to the answer. FindTime is how long it
	// takes to find a record that we generate; unknown where the records were there already. Both are means with their
	// confidence interval.
	AddedDelay Estimate `json:"added_delay_ms"`
	FindTime   Estimate `json:"find_time_ms"`
	Skews      []Skew   `json:"skews"`
	// Hosts are those that the topology's workers ran on.
	Hosts []HostClock `json:"hosts,omitempty"`
	Notes []string    `json:"notes"`
	// Traces are the raw data: one for each query that found its record.
	Traces []Trace `json:"journeys,omitempty"`
}
