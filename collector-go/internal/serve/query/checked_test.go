package query

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func nested(open, within, shut string, n int) string {
	return strings.Repeat(open, n) + within + strings.Repeat(shut, n)
}

func TestDepth(t *testing.T) {
	for text, depth := range map[string]int{
		"x":                            0,
		"(x)":                          1,
		"abs(ln(x))":                   2,
		"a + b + c":                    2,
		"(a + b) * (c + d)":            3,
		"f(a + b, c + d)":              2,
		"a and b or c unless d":        3,
		"a == bool b":                  1,
		"a >= b":                       1,
		"-x":                           1,
		"--x":                          2,
		"2 ^ 3 ^ x":                    2,
		"x[5m]":                        1,
		"max_over_time(x[5m:1m])":      2,
		"x[1m:][1m:]":                  2,
		`x{a="(((", b!~'-+-', c=~"-"}`: 1,
		"x{a=`((\\`}":                  1,
		`x{a="\"((("}`:                 1,
		"x # (((((\n+ y":               1,
		"x{ # (((\"\n a=\"b\"}":        1,
		"\"((( ":                       0,
		"sum by (a, b, c) (x)":         1,
		"))))((":                       2,
		"((x)+1+1)+1+1":                6,
		"f((a+b), c)+d":                4,
		"a atan2 b":                    1,
		"order + android":              1,
	} {
		c, err := textLimits{length: 1000, depth: 100}.check(text)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, c.depth, depth, text)
		assert.LessOrEqual(t, c.depth, depth+1, text)
	}
}

// tokens are the parts of which random texts are made.
var tokens = []string{"(", ")", "[", "]", "[5m]", "[5m:1m]", "{", "}", "{a=\"b\"}", "x", "1", "1e-5", "abs(",
	"sum by (a) (", "+", "-", "*", "^", "/", "%", "==", "!=", "<", ">=", " and ", " or ", " unless ", " atan2 ",
	",", "\"a(\"", "'\\''", "`((`", "#((\n", " ", "\n", "\xff", " offset 1m", " @ 1", "vector(", "and", "a:b", "é"}

// For any text, the measured depth is at least the depth of the expression, and checking is fast.
func TestDepthIsNoLessThanTheExpressions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := parser.NewParser(parser.Options{})
	parsed := 0
	for range 10_000 {
		text := anyText(r, 6)
		if r.IntN(3) == 0 {
			text = ""
			for range r.IntN(12) {
				text += tokens[r.IntN(len(tokens))]
			}
		}
		c, err := textLimits{length: 1 << 20, depth: 1 << 20}.check(text)
		require.NoError(t, err)
		expr, err := p.ParseExpr(text)
		if err != nil {
			continue
		}
		parsed++
		require.GreaterOrEqual(t, c.depth+2, height(expr), text) // a range selector contains another selector
	}
	require.Greater(t, parsed, 4_000)
}

func anyText(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(6) == 0 {
		return []string{"x", "1", "x{a=\"(\"}", "x offset 5m", "time()"}[r.IntN(5)]
	}
	a := anyText(r, depth-1)
	switch r.IntN(6) {
	case 0:
		return "(" + a + ")"
	case 1:
		return "-" + a
	case 2:
		return "vector(scalar(vector(1))) " + []string{"+", "or", "unless", "^", "atan2", "=="}[r.IntN(6)] +
			" vector(scalar(" + a + "))"
	case 3:
		return "sum by (a) (" + a + ")"
	case 4:
		return "(" + a + " - -1 * 2)"
	}
	return "max_over_time((" + a + " + 1 + 1)[5m:1m])"
}

func height(n parser.Node) int {
	deepest := 0
	for child := range parser.ChildrenIter(n) {
		deepest = max(deepest, height(child))
	}
	return deepest + 1
}

// C1: a text that is nested too deep is refused before any recursion, by every entry point and for every kind of
// nesting.
func TestTooLongOrTooDeepIsRefusedAtOnce(t *testing.T) {
	e, err := New(Absent, DefaultOptions())
	require.NoError(t, err)
	for _, n := range []int{300, 10_000, 100_000} {
		for _, text := range []string{
			nested("abs(", "x", ")", n), nested("ln(", "x", ")", n), nested("(", "x", ")", n), nested("[", "x", "]", n),
			nested("{", "x", "}", n), strings.Repeat("(", n),
			nested("-", "x", "", n), nested("+", "x", "", n), nested("!", "x", "", n), nested("x+", "x", "", n),
			nested("x or ", "x", "", n), nested("x^", "x", "", n),
			nested("x", "[1m:]", "[1m:]", n), nested("max_over_time(", "x", "[1m:])", n),
			nested("sum by (a) (", "x", ")", n), nested("a == ", "x", "", n),
		} {
			started := time.Now()
			ctx := t.Context()
			_, err := e.Instant(ctx, nil, text, started)
			requireTextError(t, err, text)
			_, err = e.Range(ctx, nil, text, started, started.Add(time.Hour), time.Minute)
			requireTextError(t, err, text)
			_, err = e.Parse(ctx, text)
			requireTextError(t, err, text)
			_, err = e.Format(ctx, text)
			requireTextError(t, err, text)
			_, err = e.Selectors(ctx, []string{text})
			requireTextError(t, err, text)
			_, err = e.Parser().ParseExpr(text)
			requireTextError(t, err, text)
			require.Less(t, time.Since(started), 2*time.Second, "%.20s", text)
		}
	}
}

func requireTextError(t *testing.T, err error, text string) {
	t.Helper()
	var refused *TextError
	require.ErrorAs(t, err, &refused, "%.20s", text)
}

// The longest and deepest allowed texts are parsed and formatted within an acceptable time.
func TestTheDearestThatIsTakenIsCheap(t *testing.T) {
	e, err := New(Absent, DefaultOptions())
	require.NoError(t, err)
	fill := func(part string) string { return strings.Repeat(part, 65_000/len(part)) }
	for name, text := range map[string]string{
		"brackets": nested("(", "1", ")", 250), "calls": nested("abs(", "x", ")", 250),
		"not closed": strings.Repeat("(", 250) + fill(" ")[:60_000], "chain": nested("x or ", "x", "", 250),
		"arguments": nested("abs(", "label_join(x, \"a\""+strings.Repeat(",\"b\"", 15_000)+")", ")", 250),
		"grouping":  "sum by (" + fill("a,") + "a) (x)", "matchers": "x{" + fill("a=\"b\",") + "}",
		"name": fill("a"), "words": fill("a b "), "alternatives": "x{a=~\"" + fill("host-1:6700|") + "\"}",
		"not text":  "\"" + fill("\xff"),
		"wildcards": "x{a=~\"" + fill(".*a") + "\"}", "repeated": "x{" + fill("a=~\"(.*a.*b){500}\",") + "}",
		"classes": "x{a=~\"" + fill("\\\\pL*") + "\"}", "hidden": "x{a=~\"" + fill("\\x5cpL") + "\"}",
	} {
		started := time.Now()
		_, parsing := e.Parse(t.Context(), text)
		_, formatting := e.Format(t.Context(), text)
		_, selecting := e.Selectors(t.Context(), []string{text})
		took := time.Since(started)
		t.Logf("%s: %s: %.60v, %.60v, %.60v", name, took, parsing, formatting, selecting)
		require.Less(t, took, 10*time.Second, name)
	}
}
