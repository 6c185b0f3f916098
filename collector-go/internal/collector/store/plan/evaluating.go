package plan

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
)

// Text is a query as the user wrote it, with its time or range.
type Text struct {
	Expression string
	Start, End time.Time
	Step       time.Duration // used if Range is true
	Range      bool          // if false, the query is evaluated only at Start
}

// Evaluating is a store with its own engine, which evaluates whole queries.
type Evaluating interface {
	// Evaluate returns the same result as the Prometheus engine would.
	Evaluate(ctx context.Context, q Text) (parser.Value, annotations.Annotations, error)
}
