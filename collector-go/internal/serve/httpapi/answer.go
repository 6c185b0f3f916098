package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// answer is the result of a handler. Its JSON fields and their order are those of Prometheus (web/api/v1), so that
// clients of Prometheus can read it.
type answer struct {
	data     any
	err      *apiError
	warnings annotations.Annotations
	done     func() // called after the answer is written; may be nil
}

// apiError is the error of an answer, with the type by which clients distinguish errors. It does not implement error:
// it exists only between a handler and write, so that no handler can return an error without a type.
type apiError struct {
	typ string
	err error
}

// The types of errors.
const (
	errorTimeout   = "timeout"
	errorCanceled  = "canceled"
	errorExecution = "execution"
	errorBadData   = "bad_data"
	errorInternal  = "internal"

	errorNotFound     = "not_found"
	errorUnavailable  = "unavailable"
	errorUnauthorized = "unauthorized"
	errorForbidden    = "forbidden"
	errorMediaType    = "unsupported_media_type"
	errorTooMany      = "too_many_requests"
)

// statusClientClosed is nginx' code for a client that closed the connection. Prometheus uses it for a cancelled query.
const statusClientClosed = 499

// status returns the HTTP status of an error. A body that is too large or too slow has a status of its own, whatever
// type the handler chose. In all other cases the type decides, as in Prometheus.
func (e *apiError) status() int {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(e.err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case isTooSlow(e.err):
		return http.StatusRequestTimeout
	}
	return cmp.Or(statuses[e.typ], http.StatusInternalServerError)
}

// statuses are the HTTP statuses of the types of errors; the others have 500.
var statuses = map[string]int{
	errorBadData: http.StatusBadRequest, errorNotFound: http.StatusNotFound, errorCanceled: statusClientClosed,
	errorUnauthorized: http.StatusUnauthorized, errorForbidden: http.StatusForbidden,
	errorTooMany: http.StatusTooManyRequests, errorMediaType: http.StatusUnsupportedMediaType,
	errorExecution: http.StatusUnprocessableEntity,
	errorTimeout:   http.StatusServiceUnavailable, errorUnavailable: http.StatusServiceUnavailable,
}

// badData returns the answer to a request that the client has to correct.
func badData(err error) answer { return answer{err: &apiError{errorBadData, err}} }

func invalidParameter(name string, err error) answer { return badData(parameterError(name, err)) }

func parameterError(name string, err error) error {
	return fmt.Errorf("invalid parameter %q: %w", name, err)
}

// unparsed answers a request whose text could not be parsed. Parsing also stops if the client disconnects or the time
// is over, and then the text is not at fault. In all other cases otherwise makes the answer.
func unparsed(err error, otherwise func(error) answer) answer {
	switch {
	case isCanceled(err):
		return answer{err: &apiError{errorCanceled, err}}
	case errors.Is(err, context.DeadlineExceeded):
		return answer{err: &apiError{errorTimeout, err}}
	}
	return otherwise(err)
}

// isTooLarge reports whether a query exceeded a limit on what it may read.
func isTooLarge(err error) bool {
	var limit *query.LimitError
	return errors.As(err, &limit)
}

// isTimeout reports whether the query ran out of time, including time spent reading the store.
func isTimeout(err error) bool {
	var storage promql.ErrStorage
	return errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &storage) && errors.Is(storage.Err, context.DeadlineExceeded)
}

// failed returns the error that a query or the store returned, with its type.
func failed(err error) *apiError {
	var canceled promql.ErrQueryCanceled
	var timeout promql.ErrQueryTimeout
	var storage promql.ErrStorage
	switch {
	case isTooLarge(err):
		return &apiError{errorExecution, err}
	case errors.As(err, &canceled):
		return &apiError{errorCanceled, err}
	case errors.As(err, &timeout), isTimeout(err):
		return &apiError{errorTimeout, err}
	case errors.Is(err, query.ErrNoStore), errors.As(err, &storage) && errors.Is(storage.Err, query.ErrNoStore):
		return &apiError{errorUnavailable, query.ErrNoStore}
	case errors.As(err, &storage):
		return &apiError{errorInternal, err}
	case isCanceled(err):
		return &apiError{errorCanceled, err}
	}
	return &apiError{errorExecution, err}
}

// response is the JSON object around every answer.
type response struct {
	Status    string   `json:"status"`
	Data      any      `json:"data,omitempty"`
	ErrorType string   `json:"errorType,omitempty"`
	Error     string   `json:"error,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Infos     []string `json:"infos,omitempty"`
}

// maxAnnotations is the maximum number of warnings, and of infos, in one answer.
const maxAnnotations = 10

// write encodes and sends an answer. The complete body is encoded before the first byte is sent, so that a failed
// encoding becomes an error response and not a truncated body.
func (a *api) write(w http.ResponseWriter, r request, result answer) {
	if result.data == nil && result.err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	code, body := http.StatusOK, &response{Status: "success", Data: result.data}
	if result.err != nil {
		code = result.err.status()
		body = &response{Status: "error", Data: result.data, ErrorType: result.err.typ, Error: result.err.err.Error()}
	} else {
		body.Warnings, body.Infos = result.warnings.AsStrings(r.FormValue("query"), maxAnnotations, maxAnnotations)
	}
	encoded, err := encoding.Marshal(body)
	if err != nil {
		a.options.Logger.Error("encoding an answer failed", "path", r.URL.Path, "error", err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if _, err := w.Write(encoded); err != nil {
		a.options.Logger.Debug("writing an answer failed", "path", r.URL.Path, "error", err)
	}
}
