package dashboardtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// dimension is what a value counts in: powers of seconds, bytes and things counted. A share has none of them.
type dimension struct {
	seconds, bytes, things int
	free                   bool // a number as it is written: it fits anything
}

func (d dimension) equal(o dimension) bool {
	return d.free || o.free || d.seconds == o.seconds && d.bytes == o.bytes && d.things == o.things
}

// shownAs: seconds over a count are the seconds of one, on an average; all else is what it is.
func (d dimension) shownAs(got dimension) bool {
	return d.equal(got) || d == seconds && got == dimension{seconds: 1, things: -1}
}

func (d dimension) times(o dimension, sign int) dimension {
	return dimension{d.seconds + sign*o.seconds, d.bytes + sign*o.bytes, d.things + sign*o.things, d.free && o.free}
}

// String is "count/second".
func (d dimension) String() string {
	if d.free {
		return "a plain number"
	}
	var over, under []string
	for _, part := range []struct {
		power int
		name  string
	}{{d.seconds, "seconds"}, {d.bytes, "bytes"}, {d.things, "counts"}} {
		for range part.power {
			over = append(over, part.name)
		}
		for range -part.power {
			under = append(under, strings.TrimSuffix(part.name, "s"))
		}
	}
	switch {
	case len(over)+len(under) == 0:
		return "a share"
	case len(over) == 0:
		over = []string{"1"}
	}
	return strings.Join(append([]string{strings.Join(over, "·")}, under...), "/")
}

const msAMinute = "suffix: ms/min"

var (
	share   = dimension{}
	seconds = dimension{seconds: 1}
	counts  = dimension{things: 1}
)

// shows is what Grafana's units show; ms a minute are a share times 60,000, by a transformation.
var shows = map[string]dimension{
	"s": seconds, "bytes": {bytes: 1}, "binBps": {bytes: 1, seconds: -1}, "percentunit": share, "short": counts,
	"none": counts, "cps": {things: 1, seconds: -1},
	"suffix: cores": share, msAMinute: share, "suffix: cores/query": {things: -1},
}

// units are those that names end in.
var units = map[string]dimension{"seconds": seconds, "bytes": {bytes: 1}, "ratio": share, "cores": share,
	"per_second": {things: 1, seconds: -1}}

func (l *linter) dimension(e parser.Expr) (dimension, error) {
	switch n := e.(type) {
	case *parser.NumberLiteral:
		return dimension{free: true}, nil
	case *parser.ParenExpr:
		return l.dimension(n.Expr)
	case *parser.UnaryExpr:
		return l.dimension(n.Expr)
	case *parser.StepInvariantExpr:
		return l.dimension(n.Expr)
	case *parser.SubqueryExpr:
		return l.dimension(n.Expr)
	case *parser.MatrixSelector:
		return l.dimension(n.VectorSelector)
	case *parser.VectorSelector:
		m, _ := l.metric(n.Name)
		if d, known := units[m.Unit]; known {
			return d, nil
		}
		return counts, nil
	case *parser.AggregateExpr:
		if n.Op == parser.COUNT {
			return counts, nil
		}
		return l.dimension(n.Expr)
	case *parser.Call:
		return l.ofCall(n)
	case *parser.BinaryExpr:
		return l.ofBinary(n)
	}
	return dimension{}, fmt.Errorf("has a part whose unit is unknown: %s", e)
}

// isHistogram: what is below is a distribution, whose rate is a distribution of the same unit.
func (l *linter) isHistogram(e parser.Expr) (is bool) {
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		if s, found := node.(*parser.VectorSelector); found {
			is = is || l.metrics[s.Name].Type == "histogram" || strings.HasSuffix(s.Name, "_bucket")
		}
		return nil
	})
	return is
}

func (l *linter) ofCall(c *parser.Call) (dimension, error) {
	perSecond := dimension{things: 1, seconds: -1}
	switch c.Func.Name {
	case "time", "timestamp":
		return seconds, nil
	case "vector":
		return dimension{free: true}, nil
	case "histogram_count":
		return perSecond, nil
	case "histogram_fraction":
		return share, nil
	case "histogram_quantile":
		return l.dimension(c.Args[1])
	case "rate", "irate", "deriv":
		d, err := l.dimension(c.Args[0])
		if err != nil || l.isHistogram(c.Args[0]) {
			return d, err
		}
		return d.times(seconds, -1), nil
	}
	if len(c.Args) == 0 {
		return dimension{}, fmt.Errorf("uses %s(), whose unit this check does not know", c.Func.Name)
	}
	return l.dimension(c.Args[0])
}

func (l *linter) ofBinary(b *parser.BinaryExpr) (dimension, error) {
	left, err := l.dimension(b.LHS)
	if err != nil {
		return left, err
	}
	right, err := l.dimension(b.RHS)
	if err != nil {
		return right, err
	}
	switch b.Op {
	case parser.MUL:
		if perSecond := (dimension{things: 1, seconds: -1}); left.equal(perSecond) && right.equal(seconds) {
			return share, nil // so many a second, each for so long
		}
		return left.times(right, 1), nil
	case parser.DIV:
		return left.times(right, -1), nil
	case parser.LAND, parser.LUNLESS:
		return left, nil
	}
	if !left.equal(right) {
		return left, errors.New("joins " + left.String() + " and " + right.String() + " by " + b.Op.String())
	}
	if left.free {
		return right, nil
	}
	return left, nil
}
