package tuning

import (
	"fmt"
	"strings"
)

// LimitedByRecordSource is what makes the records: the topology was given fewer than the step says.
const LimitedByRecordSource Limiter = "the record source"

// SourceRateEvidence is whether the records that a step asks for were made: with the topology's own source what that
// emitted, with Kafka what the producers wrote. Both are of the whole topology and hold the records that queries look
// for.
type SourceRateEvidence struct {
	AskedPerSecond Figure `json:"asked_records_per_second"`
	MadePerSecond  Figure `json:"made_records_per_second"`
}

// Bounds of what counts as short.
const (
	// leastSourceRate is the least share of the records asked for that must be made.
	leastSourceRate = 0.9
	// leastShort is how many records must be lacking at least: of a few, one more or less at the step's ends is a large
	// share.
	leastShort = 10
)

func (s SourceRateEvidence) known() bool { return s.AskedPerSecond > 0 && s.MadePerSecond.Known() }

// sourceRateRule compares what was made with what was asked for.
func sourceRateRule(e Evidence) LimiterFinding {
	s := e.SourceRate
	share := s.MadePerSecond / s.AskedPerSecond
	numbers := []Number{{"asked for", s.AskedPerSecond, "records/s"}, {"made", s.MadePerSecond, "records/s"},
		{"share", share, "ratio"}}
	says := fmt.Sprintf("the record source made %s of the %s records/s asked for, %s", Digits(s.MadePerSecond),
		Digits(s.AskedPerSecond), shareText(share))
	if e.Source.Kind == SourceKafka {
		numbers = append(numbers, Number{"read", e.Source.RecordsPerSecond, "records/s"})
		switch {
		case e.short(s.MadePerSecond):
			says += " (producers share a rate: RecordProducer --part)"
		case e.short(e.Source.RecordsPerSecond):
			says = fmt.Sprintf("the topology read %s of the %s records/s asked for, %s, although they were made",
				Digits(e.Source.RecordsPerSecond), Digits(s.AskedPerSecond),
				shareText(e.Source.RecordsPerSecond/s.AskedPerSecond))
			return finding(LimitedByRecordSource, Reached, numbers, "%s", says)
		}
	}
	return finding(LimitedByRecordSource, stateOf(e.short(s.MadePerSecond)), numbers, "%s", says)
}

// short reports whether a rate is too little of what was asked for.
func (e Evidence) short(perSecond Figure) bool {
	asked, seconds := e.SourceRate.AskedPerSecond, Figure(e.ToMs-e.FromMs)/1000
	return perSecond < leastSourceRate*asked && (asked-perSecond)*seconds >= leastShort
}

// explainSourceRate takes a shortage for a consequence where something else is why: what holds the topology up, of its
// own source and of what it reads from Kafka; of what producers make beside Kafka the host's processors alone.
func (l *limiting) explainSourceRate(busy string) {
	switch {
	case l.reached(LimitedByHost):
		l.follows(LimitedByRecordSource, "the host left it no processor")
	case l.evidence.Source.Kind == SourceKafka && l.evidence.short(l.evidence.SourceRate.MadePerSecond):
	case busy != "":
		l.follows(LimitedByRecordSource, "the topology takes no more because of "+busy)
	case l.reached(LimitedBySpouts, LimitedByPartitions):
		l.follows(LimitedByRecordSource, "the spouts emit no more")
	}
}

// short is what was found of a shortage of records; nil where there was none.
func (l *Limitation) short() *LimiterFinding {
	for i, f := range l.Findings {
		if f.Limiter == LimitedByRecordSource && (f.State == Reached || f.State == Consequence) {
			return &l.Findings[i]
		}
	}
	return nil
}

// ofShort is the verdict of a step that met its goals with fewer records than it says: it did not hold its load where
// the topology itself is why, and otherwise shows nothing of that load.
func (l *Limitation) ofShort() Judgement {
	short, reasons := l.short(), []string{l.Text}
	if !strings.Contains(l.Text, short.Says) {
		reasons = []string{short.Says, l.Text}
	}
	switch {
	case l.spoiled():
		return Judgement{Inconclusive, reasons}
	case short.State == Consequence && l.BlamesTopology():
		return Judgement{Fail, reasons}
	}
	return Judgement{Limited, reasons}
}
