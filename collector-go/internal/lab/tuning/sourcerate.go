package tuning

import (
	"fmt"
	"strings"
)

// LimitedByRecordSource means that the source made fewer records than the step requested.
const LimitedByRecordSource Limiter = "the record source"

// SourceRateEvidence shows whether the requested records were made: emitted by the topology's own source, or written
// by the producers for Kafka. Both rates are totals that include the records that queries look for.
type SourceRateEvidence struct {
	AskedPerSecond Figure `json:"asked_records_per_second"`
	MadePerSecond  Figure `json:"made_records_per_second"`
}

// Bounds of a shortage.
const (
	// leastSourceRate is the smallest share of the requested records that is not a shortage.
	leastSourceRate = 0.9
	// leastShort is the minimum number of missing records for a shortage. At low rates, one record more or less at the
	// step's ends is a large share.
	leastShort = 10
)

func (s SourceRateEvidence) known() bool { return s.AskedPerSecond > 0 && s.MadePerSecond.Known() }

// sourceRateRule compares the rate that was made with the requested one.
func sourceRateRule(e Evidence) LimiterFinding {
	s := e.SourceRate
	share := s.MadePerSecond / s.AskedPerSecond
	numbers := []Number{{"asked for", s.AskedPerSecond, "records/s"}, {"made", s.MadePerSecond, "records/s"},
		{"share", share, "ratio"}}
	says := fmt.Sprintf("the record source emitted %s of the %s requested records/s, %s", Digits(s.MadePerSecond),
		Digits(s.AskedPerSecond), shareText(share))
	if e.Source.Kind == SourceKafka {
		numbers = append(numbers, Number{"read", e.Source.RecordsPerSecond, "records/s"})
		switch {
		case e.short(s.MadePerSecond):
			says += " (producers share a rate: RecordProducer --part)"
		case e.short(e.Source.RecordsPerSecond):
			says = fmt.Sprintf("the topology read %s of the %s requested records/s, %s, although they were emitted",
				Digits(e.Source.RecordsPerSecond), Digits(s.AskedPerSecond),
				shareText(e.Source.RecordsPerSecond/s.AskedPerSecond))
			return finding(LimitedByRecordSource, Reached, numbers, "%s", says)
		}
	}
	return finding(LimitedByRecordSource, stateOf(e.short(s.MadePerSecond)), numbers, "%s", says)
}

// short reports whether a rate is too far below the requested one.
func (e Evidence) short(perSecond Figure) bool {
	asked, seconds := e.SourceRate.AskedPerSecond, Figure(e.ToMs-e.FromMs)/1000
	return perSecond < leastSourceRate*asked && (asked-perSecond)*seconds >= leastShort
}

// explainSourceRate marks a shortage as a consequence if it has another cause. For the topology's own source, and for
// reads from Kafka, that is whatever slows the topology down. For the producers before Kafka it is only the host's
// CPU.
func (l *limiting) explainSourceRate(busy string) {
	switch {
	case l.reached(LimitedByHost):
		l.follows(LimitedByRecordSource, "the host had no CPU left for it")
	case l.evidence.Source.Kind == SourceKafka && l.evidence.short(l.evidence.SourceRate.MadePerSecond):
	case busy != "":
		l.follows(LimitedByRecordSource, "the topology reads no more because of "+busy)
	case l.reached(LimitedBySpouts, LimitedByPartitions):
		l.follows(LimitedByRecordSource, "the spouts emit no more")
	}
}

// short returns the finding of a shortage of records; nil if there was none.
func (l *Limitation) short() *LimiterFinding {
	f, found := First(l.Findings, func(f LimiterFinding) bool {
		return f.Limiter == LimitedByRecordSource && (f.State == Reached || f.State == Consequence)
	})
	if !found {
		return nil
	}
	return &f
}

// ofShort returns the verdict of a step that met its goals with too few records. If the topology itself caused the
// shortage, it did not hold its load. Otherwise the step says nothing about that load.
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
