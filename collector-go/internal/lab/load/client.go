package load

// Client is what submits queries. ClosedLoop and OpenLoop are such.
type Client interface {
	// Counts reports how the client stands now.
	Counts() Counts
}

// Counts accounts for every query of a client. Two identities hold: Scheduled = Submitted + Waiting + NotSubmitted, and
// Submitted = InFlight + Returned + Failed + TimedOut + Unfinished + CutOff.
type Counts struct {
	// Scheduled is how many had to be submitted by now.
	Scheduled int `json:"due"`
	// Submitted is how many were.
	Submitted int `json:"submitted"`
	// Waiting are scheduled and not submitted, because as many are in flight as there may be, or because the client is
	// late.
	Waiting int `json:"waiting"`
	// InFlight are submitted and have not ended.
	InFlight int `json:"in_flight"`
	// MostInFlight is the most that InFlight was.
	MostInFlight int `json:"most_in_flight"`
	// How the others ended.
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
		Waiting:  max(0, scheduled-submitted-ends[NotSubmitted]),
		Returned: ends[Returned], Failed: ends[Failed], TimedOut: ends[TimedOut],
		Unfinished: ends[Unfinished], CutOff: ends[CutOff], NotSubmitted: ends[NotSubmitted],
	}
}
