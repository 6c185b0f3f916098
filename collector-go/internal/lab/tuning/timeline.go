package tuning

// Stages of a record in Bullet, with the names of "Tuning and Performance of Bullet in Storm".
const (
	KafkaReceived  = "Kafka Received"
	BulletReceived = "Bullet Received"
	BulletFiltered = "Bullet Filtered"
	QueryReceived  = "Query Received"
	QueryFinished  = "Query Finished"
)

// Stage is when records reached a stage, relative to Query Received, over all queries; negative means before it.
type Stage struct {
	Name string `json:"stage"`
	// Host is the clock that stamped the stage, "" if unknown. The difference between stages of two hosts includes the
	// skew of their clocks.
	Host  string `json:"host,omitempty"`
	Count int    `json:"count"`
	// Mean, standard deviation, extremes and percentiles of the delays, in ms.
	MeanMs      Figure `json:"mean_ms"`
	DeviationMs Figure `json:"standard_deviation_ms"`
	LeastMs     Figure `json:"least_ms"`
	MedianMs    Figure `json:"median_ms"`
	P95Ms       Figure `json:"p95_ms"`
	MostMs      Figure `json:"most_ms"`
}

// Timeline is the result for the records that a number of queries looked for.
type Timeline struct {
	// Queries is how many queries were run; Returned is how many of them found their record.
	Queries  int     `json:"queries"`
	Returned int     `json:"returned"`
	Stages   []Stage `json:"stages"`
	// AddedDelay is the delay that Bullet adds, from when record and query have met to the answer. FindTime is the
	// time to find a record that was generated for the query; unknown if the records were there already. Both are
	// means with their confidence interval.
	AddedDelay Estimate `json:"added_delay_ms"`
	FindTime   Estimate `json:"find_time_ms"`
	Skews      []Skew   `json:"skews"`
	// Hosts are those that the topology's workers ran on.
	Hosts []HostClock `json:"hosts,omitempty"`
	Notes []string    `json:"notes"`
	// Traces are the raw data: one for each query that found its record.
	Traces []Trace `json:"journeys,omitempty"`
}
