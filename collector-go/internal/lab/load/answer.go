package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

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
