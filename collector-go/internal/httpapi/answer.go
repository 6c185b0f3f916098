package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	jsoniter "github.com/json-iterator/go"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"
)

// answer is what a handler found; the zero err means success.
type answer struct {
	data     any
	warnings annotations.Annotations
	err      *apiError
	close    func() // frees what data lives in, once it is written; may be nil
}

// apiError is a failure under one of Prometheus' error types.
type apiError struct {
	kind errorKind
	err  error
}

// errorKind is an error type of Prometheus' API with the status that it is answered with.
type errorKind struct {
	name   string
	status int
}

// The error types (Prometheus: web/api/v1).
var (
	badData     = errorKind{"bad_data", http.StatusBadRequest}
	execution   = errorKind{"execution", http.StatusUnprocessableEntity}
	canceled    = errorKind{"canceled", 499} // nginx's "client closed request"
	timedOut    = errorKind{"timeout", http.StatusServiceUnavailable}
	internal    = errorKind{"internal", http.StatusInternalServerError}
	errNoMatch  = errors.New("no match[] parameter provided")
	errCut      = errors.New("results truncated due to limit")
	errBackward = errors.New("end timestamp must not be before start time")
	errStep     = errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer")
	errTooFine  = errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")
)

func failed(kind errorKind, err error) answer { return answer{err: &apiError{kind, err}} }

func invalid(parameter string, err error) answer {
	return failed(badData, fmt.Errorf("invalid parameter %q: %w", parameter, err))
}

// failedQuery gives the engine's and the store's errors their type.
func failedQuery(err error) answer {
	var (
		stopped promql.ErrQueryCanceled
		late    promql.ErrQueryTimeout
		broken  promql.ErrStorage
	)
	switch {
	case errors.As(err, &stopped), errors.Is(err, context.Canceled):
		return failed(canceled, err)
	case errors.As(err, &late):
		return failed(timedOut, err)
	case errors.As(err, &broken):
		return failed(internal, err)
	}
	return failed(execution, err)
}

// The most warnings and the most infos of one answer, as in Prometheus.
const maxAnnotations = 10

// write sends the answer as Prometheus does.
func (a answer) write(w http.ResponseWriter, query string) error {
	stream := jsoniter.ConfigCompatibleWithStandardLibrary.BorrowStream(w)
	defer jsoniter.ConfigCompatibleWithStandardLibrary.ReturnStream(stream)
	w.Header().Set("Content-Type", "application/json")
	if a.err != nil {
		w.WriteHeader(a.err.kind.status)
		writeFailure(stream, a.err)
	} else {
		warnings, infos := a.warnings.AsStrings(query, maxAnnotations, maxAnnotations)
		writeSuccess(stream, a.data, warnings, infos)
	}
	return stream.Flush()
}

func writeFailure(stream *jsoniter.Stream, e *apiError) {
	stream.WriteObjectStart()
	field(stream, "status", "error", false)
	field(stream, "errorType", e.kind.name, true)
	field(stream, "error", e.err.Error(), true)
	stream.WriteObjectEnd()
}

func writeSuccess(stream *jsoniter.Stream, data any, warnings, infos []string) {
	stream.WriteObjectStart()
	field(stream, "status", "success", false)
	stream.WriteMore()
	stream.WriteObjectField("data")
	writeData(stream, data)
	if len(warnings) > 0 {
		field(stream, "warnings", warnings, true)
	}
	if len(infos) > 0 {
		field(stream, "infos", infos, true)
	}
	stream.WriteObjectEnd()
}

func field(stream *jsoniter.Stream, name string, value any, more bool) {
	if more {
		stream.WriteMore()
	}
	stream.WriteObjectField(name)
	stream.WriteVal(value)
}
