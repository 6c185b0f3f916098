package query

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// Whatever the text is, no entry point accepts an expression that is longer or deeper than the limits allow. A
// formatted text can be parsed again.
func FuzzExpression(f *testing.F) {
	e, err := New(Absent, DefaultOptions())
	require.NoError(f, err)
	limits := DefaultOptions()
	for _, text := range tokens {
		f.Add(text)
	}
	for _, unit := range []string{"(", "abs(", "-", "x+", "[1m:]", "{a=\"", "x{a=~\"((", "1^", "sum by (a) ("} {
		f.Add(strings.Repeat(unit, limits.MaxDepth/2))
		f.Add(strings.Repeat(unit, 2*limits.MaxDepth))
		f.Add(strings.Repeat(unit, limits.MaxLength/len(unit)+1))
	}
	f.Add(`histogram_quantile(0.99, sum by (le) (rate(x{a="b",c!~"d.*"}[5m:1m] offset -1h @ end())))`)
	f.Fuzz(func(t *testing.T, text string) {
		ctx := t.Context()
		expr, err := e.Parser().ParseExpr(text)
		var refused *TextError
		if errors.As(err, &refused) {
			_, err := e.Parse(ctx, text)
			require.ErrorAs(t, err, &refused, "every door refuses it")
			_, err = e.Selectors(ctx, []string{text})
			require.ErrorAs(t, err, &refused, "every door refuses it")
			return
		}
		require.LessOrEqual(t, len(text), limits.MaxLength)
		_, _ = e.Selectors(ctx, []string{text})
		if err != nil {
			return
		}
		require.LessOrEqual(t, height(expr), limits.MaxDepth+2) // a range selector contains another selector
		pretty, err := e.Format(ctx, text)
		if err != nil {
			return
		}
		again, err := parser.NewParser(parser.Options{}).ParseExpr(pretty)
		require.NoError(t, err, pretty)
		require.Equal(t, expr.String(), again.String())
	})
}
