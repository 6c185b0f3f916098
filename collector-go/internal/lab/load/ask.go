package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"
)

// Submitter submits one query and returns its answer when the query has ended. An error means that there is no answer.
// Implementations must be safe for concurrent use; Gateway and DRPC are the two.
type Submitter interface {
	Query(ctx context.Context, bql string) (Answer, error)
}

// desk submits a query and checks its answer against the records that the source generated meanwhile. Both load models
// use it, so that an outcome means the same in both. It has no state and is safe for concurrent use.
type desk struct {
	query  Query
	target Submitter
	grace  time.Duration   // how long after its own end a query may take to return
	run    context.Context // context of all queries
}

// start holds the scheduled start of a query, and the time from which only the client can have delayed it.
type start struct{ intended, ready time.Time }

// ask submits a query for a probe and waits for its end.
func (d desk) ask(slot int, probe string, s start) Outcome {
	ctx, cancel := context.WithTimeout(d.run, d.query.Life()+d.grace)
	defer cancel()
	submitted := time.Now()
	answer, err := d.target.Query(ctx, d.query.BQL(probe))
	finished := time.Now()
	outcome := Outcome{
		Class: d.query.Class(), Slot: slot, Probe: probe, IntendedMs: s.intended.UnixMilli(),
		SubmittedMs: submitted.UnixMilli(), FinishedMs: finished.UnixMilli(),
		LatencyUs: finished.Sub(s.intended).Microseconds(), LateUs: max(0, submitted.Sub(s.ready).Microseconds()),
		End: d.end(ctx, err, finished.Sub(submitted)), Generated: generated(d.query.ProbeRate(), submitted, finished),
	}
	var check Check
	if err == nil {
		if check, err = d.query.Check(answer, probe, arrived(answer, submitted, finished), finished); err != nil {
			outcome.End = Failed
		}
	}
	if err != nil {
		outcome.Error, outcome.Refused = err.Error(), Refused(err)
		return outcome
	}
	outcome.Records, outcome.Expected = check.Records, check.Expected
	outcome.Missing, outcome.Repeated, outcome.Foreign = check.Missing, check.Repeated, check.Foreign
	return outcome
}

// arrived returns when the topology received the query, if bullet.result.metadata contains it; otherwise when it was
// submitted. A query that took long to reach an overloaded topology is therefore not blamed for records made
// meanwhile. A time outside of the query's life comes from another clock and is ignored.
func arrived(answer Answer, submitted, finished time.Time) time.Time {
	var meta struct {
		Query struct {
			ReceivedMs int64 `json:"Receive Time"`
		}
	}
	if json.Unmarshal(answer.Meta, &meta) != nil {
		return submitted
	}
	if received := time.UnixMilli(meta.Query.ReceivedMs); received.After(submitted) && received.Before(finished) {
		return received
	}
	return submitted
}

// overdue reports whether a query that has not returned should have returned.
func (d desk) overdue(life time.Duration) bool { return life > d.query.Life()+5*settling }

func (d desk) end(ctx context.Context, err error, life time.Duration) End {
	abandoned := d.run.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
	switch {
	case err == nil:
		return Returned
	case abandoned && d.overdue(life):
		return Unfinished
	case abandoned:
		return CutOff
	case ctx.Err() != nil && d.run.Err() == nil:
		return TimedOut
	}
	return Failed
}

// Answer is the answer to a query.
type Answer struct {
	// Records are not decoded, because their form depends on the query.
	Records []json.RawMessage
	Meta    json.RawMessage
}

// AnswerError is an answer with status 200 that is not an answer of Bullet. Bullet's web service reports refused
// queries like this, and a proxy may answer in its place.
type AnswerError struct {
	// Words are the server's own words, or what the answer lacks and how it begins.
	Words string
	// Busy states that Bullet refused the query because it was full.
	Busy bool
}

// Error implements error.
func (e *AnswerError) Error() string { return e.Words }

// parseAnswer parses Bullet's answer to a query (com.yahoo.bullet.result.Clip): one JSON object with a list of
// records, each an object, and metadata without errors. Everything else is an error, whatever the HTTP status.
func parseAnswer(text []byte) (Answer, error) {
	fields, err := object(text)
	if err != nil {
		return Answer{}, notBullets(text, err.Error())
	}
	answer := Answer{Meta: fields["meta"]}
	var meta struct {
		Errors json.RawMessage `json:"errors"`
	}
	if isObject(answer.Meta) && json.Unmarshal(answer.Meta, &meta) == nil {
		if errors := readErrors(meta.Errors); errors != nil {
			return answer, errors
		}
	}
	switch {
	case fields["records"] == nil || fields["meta"] == nil:
		return answer, notBullets(text, "it has not both records and meta")
	case len(fields) > 2:
		return answer, notBullets(text, "it has more than records and meta")
	case !isObject(answer.Meta):
		return answer, notBullets(text, "its meta is not an object")
	case !isList(fields["records"]) || json.Unmarshal(fields["records"], &answer.Records) != nil:
		return answer, notBullets(text, "its records are not a list")
	}
	for i, record := range answer.Records {
		if !isObject(record) {
			return answer, notBullets(text, fmt.Sprintf("record %d is not an object", i+1))
		}
	}
	return answer, nil
}

// object decodes a JSON object with nothing after it. Field names are kept exactly.
func object(text []byte) (fields map[string]json.RawMessage, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	err = decoder.Decode(&fields)
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("incomplete JSON")
	case errors.As(err, &syntax):
		return nil, errors.New("not JSON")
	case err != nil || fields == nil:
		return nil, errors.New("not a JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the JSON")
	}
	return fields, nil
}

func isObject(text json.RawMessage) bool { return bytes.HasPrefix(text, []byte("{")) }

func isList(text json.RawMessage) bool { return bytes.HasPrefix(text, []byte("[")) }

func notBullets(text []byte, why string) *AnswerError {
	return &AnswerError{Words: fmt.Sprintf("the answer is not from Bullet (%s): %s", why, beginning(text))}
}

// beginning returns the part of a text that an error quotes.
func beginning(text []byte) string {
	short := strings.Join(strings.Fields(string(text[:min(len(text), maxErrorBytes)])), " ")
	return fmt.Sprintf("%.200q", short)
}

// busyWords begin the errors with which Bullet's web service refuses a query that it would accept later
// (com.yahoo.bullet.rest.query.QueryError).
var busyWords = []string{"Too many concurrent queries", "Service temporarily unavailable"}

// readErrors returns the errors in Bullet's metadata, in Bullet's words; nil if there are none.
func readErrors(text json.RawMessage) error {
	if len(text) == 0 || bytes.Equal(text, []byte("null")) || bytes.Equal(bytes.Join(bytes.Fields(text), nil), []byte("[]")) {
		return nil
	}
	var all []json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		all = []json.RawMessage{text}
	}
	e := &AnswerError{}
	var said []string
	for _, one := range all {
		var bullets struct {
			Error       string
			Resolutions []string
		}
		if json.Unmarshal(one, &bullets) != nil || bullets.Error == "" {
			said = append(said, beginning(one))
			continue
		}
		words := bullets.Error
		if len(bullets.Resolutions) > 0 {
			words += " (" + strings.Join(bullets.Resolutions, "; ") + ")"
		}
		said = append(said, words)
		for _, busy := range busyWords {
			e.Busy = e.Busy || strings.HasPrefix(bullets.Error, busy)
		}
	}
	e.Words = fmt.Sprintf("Bullet answered with an error: %.*s", maxErrorBytes, strings.Join(said, "; "))
	return e
}

// StatusError is an HTTP answer without success.
type StatusError struct {
	// Method and URL are those of the request.
	Method, URL string
	// Code is the HTTP status code; Status adds its name, "503 Service Unavailable".
	Code   int
	Status string
	// Text is Bullet's errors, or the beginning of the body.
	Text string
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %s: %s", e.Method, e.URL, e.Status, e.Text)
}

// Refused reports whether a query failed because its target was full. The target answers 429 (Too Many Requests), as
// the gateway does at its query limit, 503 (Service Unavailable), or in the words of Bullet's web service.
func Refused(err error) bool {
	var status *StatusError
	var answer *AnswerError
	return errors.As(err, &status) && (status.Code == http.StatusTooManyRequests ||
		status.Code == http.StatusServiceUnavailable) || errors.As(err, &answer) && answer.Busy
}

func refusal(request *http.Request, response *http.Response, body []byte) error {
	e := &StatusError{Method: request.Method, URL: request.URL.String(), Code: response.StatusCode,
		Status: fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))}
	var said *AnswerError
	if _, err := parseAnswer(body); errors.As(err, &said) && strings.HasPrefix(said.Words, "Bullet ") {
		e.Text = said.Words
	} else {
		e.Text = strings.TrimSpace(string(body[:min(len(body), maxErrorBytes)]))
	}
	return e
}

// End states how a query ended.
type End string

// Ends of a query.
const (
	Returned     End = "returned"      // with an answer, which may be empty
	Failed       End = "failed"        // with an error
	TimedOut     End = "timed out"     // without an answer in its life and the grace after it
	Unfinished   End = "unfinished"    // the run ended first, although the query was overdue
	CutOff       End = "cut off"       // the run ended first, before the query had to return
	NotSubmitted End = "not submitted" // the limit of queries in flight left no room until the run's end
)

// Outcome is the result of one query: its times, how it ended, and the check of its answer. It is one line of
// outcomes.jsonl, so its JSON keys are a stored format. Times are milliseconds since the Unix epoch.
type Outcome struct {
	// Host is the load host whose client submitted the query; "" means this process.
	Host  string `json:"host,omitempty"`
	Class Class  `json:"class"`
	// Slot is the slot of a held query; an open loop numbers its queries here.
	Slot  int    `json:"slot"`
	Probe string `json:"probe"`
	// IntendedMs is the scheduled submission: by the rate in an open loop, otherwise the end of the slot's previous
	// query. Latency counts from here, so that a stalled client or gateway cannot hide it.
	IntendedMs  int64 `json:"intended_ms"`
	SubmittedMs int64 `json:"submitted_ms"`
	FinishedMs  int64 `json:"finished_ms"`
	// LatencyUs is the time from the scheduled start to the end, in µs. LateUs is the part for which the client itself
	// was late: the query was allowed to start and was not yet handed to the network.
	LatencyUs int64  `json:"latency_us"`
	LateUs    int64  `json:"late_us"`
	End       End    `json:"end"`
	Error     string `json:"error,omitempty"`
	// Refused states that the target refused the query because it was full (429, 503). The query has then also failed.
	Refused bool `json:"refused,omitempty"`
	// Records is how many records came back; Generated is how many matching records were made during the query's life.
	Records   int `json:"records"`
	Generated int `json:"generated"`
	// Expected is how many records the query had to return or count; 0 means that its completeness is unknown.
	Expected int `json:"due"`
	// Missing is how many expected records did not come, Repeated how many came twice, and Foreign how many should not
	// have come.
	Missing  int `json:"missing"`
	Repeated int `json:"repeated"`
	Foreign  int `json:"foreign"`
}

// Latency returns the time from the scheduled start to the end. For a query that did not end by itself it is a lower
// bound.
func (o Outcome) Latency() time.Duration {
	if o.LatencyUs != 0 {
		return time.Duration(o.LatencyUs) * time.Microsecond
	}
	return time.Duration(o.FinishedMs-o.IntendedMs) * time.Millisecond
}

// Completeness returns the share of the expected records that came; NaN if none was expected or no answer came.
func (o Outcome) Completeness() float64 {
	if o.Expected == 0 || o.End != Returned {
		return math.NaN()
	}
	return 1 - float64(min(o.Missing, o.Expected))/float64(o.Expected)
}
