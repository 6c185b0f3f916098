package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// rounding is how far a value may be from the truth, as a ratio: averages are added up in another order, and
// VictoriaMetrics keeps decimals.
const rounding = 1e-9

// Compare holds a range query's answer, as Prometheus' API has it, against the truth: every value of every series at
// every step from start to end, none missing, none more. It returns how many values were compared.
func (q Question) Compare(t *Truth, body []byte, startMs, endMs int64) (values int, err error) {
	steps := int((endMs-startMs)/q.StepMs) + 1
	seen := map[int]bool{}
	err = eachSeries(body, func(labels map[string]string, points []point) error {
		series, err := q.number(labels)
		if err != nil {
			return fmt.Errorf("series %v: %w", labels, err)
		}
		if seen[series] {
			return fmt.Errorf("series %v answers twice", labels)
		}
		seen[series] = true
		if len(points) != steps {
			return fmt.Errorf("series %v has %d values, and should have %d", labels, len(points), steps)
		}
		for i, p := range points {
			at := startMs + int64(i)*q.StepMs
			want, is := q.want(t, series, at)
			if p.ms != at || !is || math.Abs(p.value-want) > rounding*math.Abs(want) {
				return fmt.Errorf("series %v is %.15g at %d, and should be %.15g at %d", labels, p.value,
					p.ms, want, at)
			}
		}
		values += len(points)
		return nil
	})
	if want := q.series(t); err == nil && len(seen) != want {
		err = fmt.Errorf("%d series answer, and there are %d", len(seen), want)
	}
	return values, err
}

type point struct {
	ms    int64
	value float64
}

var errAnswer = errors.New("an answer that cannot be read")

// eachSeries reads an answer's series one after the other: a library would take longer than the server.
func eachSeries(body []byte, series func(labels map[string]string, points []point) error) error {
	const metricKey, valuesKey = `"metric":`, `"values":`
	for {
		at := bytes.Index(body, []byte(metricKey))
		if at < 0 {
			return nil
		}
		body = body[at+len(metricKey):]
		end := bytes.IndexByte(body, '}') // no label has a brace in its value
		if end < 0 {
			return errAnswer
		}
		labels := map[string]string{}
		if err := json.Unmarshal(body[:end+1], &labels); err != nil {
			return err
		}
		at = bytes.Index(body, []byte(valuesKey))
		if at < 0 {
			return errAnswer
		}
		body = body[at+len(valuesKey):]
		if end = bytes.Index(body, []byte("]]")); end < 0 {
			return errAnswer
		}
		points, err := readPoints(body[:end+1])
		if err != nil {
			return err
		}
		if err := series(labels, points); err != nil {
			return err
		}
		body = body[end+2:]
	}
}

// readPoints reads [[1700000000,"1.5"],[...].
func readPoints(text []byte) (points []point, err error) {
	text = bytes.TrimPrefix(text, []byte("["))
	for len(text) > 0 {
		comma, end := bytes.IndexByte(text, ','), bytes.IndexByte(text, ']')
		if text[0] != '[' || comma < 0 || end < comma+3 {
			return nil, errAnswer
		}
		seconds, err := strconv.ParseFloat(string(text[1:comma]), 64)
		if err != nil {
			return nil, err
		}
		value, err := strconv.ParseFloat(string(bytes.Trim(text[comma+1:end], `" `)), 64)
		if err != nil {
			return nil, err
		}
		points = append(points, point{int64(math.Round(seconds * 1000)), value})
		text = bytes.TrimPrefix(text[end+1:], []byte(","))
	}
	return points, nil
}
