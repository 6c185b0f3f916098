package load

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Aggregate holds what all aggregating queries share. They live for their whole duration and count the records of a
// probe, whose sequence numbers have no gaps.
type Aggregate struct {
	// Duration is how long the query lives in the topology.
	Duration time.Duration
	// PerSecond is the rate of the probe's records.
	PerSecond float64
}

// Life implements Query.
func (a Aggregate) Life() time.Duration { return a.Duration }

// ProbeRate implements Query.
func (a Aggregate) ProbeRate() float64 { return a.PerSecond }

// Validate returns an error that names an invalid parameter.
func (a Aggregate) Validate() error { return validate(a.Duration, a.PerSecond) }

func validate(duration time.Duration, perSecond float64) error {
	switch {
	case duration < time.Second:
		return fmt.Errorf("the duration of a query must be at least 1 s, not %s", duration)
	case !(perSecond >= 0) || math.IsInf(perSecond, 0):
		return fmt.Errorf("the rate of matching records must not be negative, not %v", perSecond)
	}
	return nil
}

// from returns the part of the text that all aggregating queries share. Durations are whole ms.
func (a Aggregate) from(probe string) string {
	return fmt.Sprintf("FROM STREAM(%d, TIME) WHERE probe = '%s'", a.Duration.Milliseconds(), probe)
}

// counted compares a count with the records that were generated. The engine states that the true count is within
// [least, most].
func (a Aggregate) counted(least, count, most float64, submitted, finished time.Time) Check {
	expected, possible := spans(a.PerSecond, a.Duration, submitted, finished)
	return Check{
		Records: int(math.Round(count)), Expected: expected.size(),
		Missing:  max(0, expected.size()-int(math.Floor(most+0.5))),
		Repeated: max(0, int(math.Ceil(least-0.5))-possible.size()),
	}
}

// number is a number in Bullet's JSON. NaN, the infinities and the values of a group are JSON strings.
type number float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	value, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err != nil {
		return fmt.Errorf("%s is not a number", text)
	}
	*n = number(value)
	return nil
}

// rows decodes an answer's records.
func rows[T any](answer Answer) ([]T, error) {
	all := make([]T, len(answer.Records))
	for i, record := range answer.Records {
		if err := json.Unmarshal(record, &all[i]); err != nil {
			return nil, fmt.Errorf("record %d of the answer, %.200s: %w", i+1, record, err)
		}
	}
	return all, nil
}
