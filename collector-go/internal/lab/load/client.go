package load

// Client submits queries. ClosedLoop and OpenLoop implement it.
type Client interface {
	// Counts returns the current counts of the client.
	Counts() Counts
}

// Counts accounts for every query of a client. Two identities hold: Scheduled = Submitted + Waiting + NotSubmitted,
// and Submitted = InFlight + Returned + Failed + TimedOut + Unfinished + CutOff.
type Counts struct {
	// Scheduled is the number of queries that were scheduled until now.
	Scheduled int `json:"due"`
	// Submitted is the number of those that were submitted.
	Submitted int `json:"submitted"`
	// Waiting is the number of scheduled queries that are not submitted yet, because of the limit of queries in flight
	// or because the client is late.
	Waiting int `json:"waiting"`
	// InFlight is the number of submitted queries that have not ended.
	InFlight int `json:"in_flight"`
	// MostInFlight is the largest value that InFlight had.
	MostInFlight int `json:"most_in_flight"`
	// Ends of the other queries.
	Returned     int `json:"returned"`
	Failed       int `json:"failed"`
	TimedOut     int `json:"timed_out"`
	Unfinished   int `json:"unfinished"`
	CutOff       int `json:"cut_off"`
	NotSubmitted int `json:"not_submitted"`
}

// flightCount counts the queries in flight.
type flightCount struct{ now, most int }

func (f *flightCount) begin() {
	f.now++
	f.most = max(f.most, f.now)
}

func (f *flightCount) end() { f.now-- }

func newCounts(scheduled, submitted int, now flightCount, ends map[End]int) Counts {
	return Counts{
		Scheduled: scheduled, Submitted: submitted, InFlight: now.now, MostInFlight: now.most,
		Waiting: max(0, scheduled-submitted-ends[NotSubmitted]), Returned: ends[Returned], Failed: ends[Failed],
		TimedOut: ends[TimedOut], Unfinished: ends[Unfinished], CutOff: ends[CutOff], NotSubmitted: ends[NotSubmitted],
	}
}
