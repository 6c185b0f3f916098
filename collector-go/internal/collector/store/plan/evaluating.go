package plan

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
)

// Text is a query as who asks has written it.
type Text struct {
	Expression string
	Start, End time.Time
	Step       time.Duration // of a range
	Range      bool          // false: at Start alone
}

// Evaluating is a store that evaluates whole queries: an engine of its own.
type Evaluating interface {
	// Evaluate answers as the engine does.
	Evaluate(ctx context.Context, q Text) (parser.Value, annotations.Annotations, error)
}
