package load

// Client is what submits queries. Held and OpenLoop are such.
type Client interface {
	// Counts tells how the client stands now.
	Counts() Counts
}

// Counts is how many queries a client has come to. Due = Submitted + Waiting + NotSubmitted; Submitted = InFlight + Returned + Failed +
// TimedOut + Unfinished + CutOff.
type Counts struct {
	// Due is how many had to be submitted by now.
	Due int `json:"due"`
	// Submitted is how many were.
	Submitted int `json:"submitted"`
	// Waiting are due and not submitted, because as many are under way as there may be, or because the client is late.
	Waiting int `json:"waiting"`
	// InFlight are submitted and have not ended.
	InFlight int `json:"in_flight"`
	// How the others ended.
	Returned     int `json:"returned"`
	Failed       int `json:"failed"`
	TimedOut     int `json:"timed_out"`
	Unfinished   int `json:"unfinished"`
	CutOff       int `json:"cut_off"`
	NotSubmitted int `json:"not_submitted"`
}

func newCounts(due, submitted, inFlight int, ends map[End]int) Counts {
	return Counts{
		Due: due, Submitted: submitted, InFlight: inFlight, Waiting: max(0, due-submitted-ends[NotSubmitted]),
		Returned: ends[Returned], Failed: ends[Failed], TimedOut: ends[TimedOut],
		Unfinished: ends[Unfinished], CutOff: ends[CutOff], NotSubmitted: ends[NotSubmitted],
	}
}
