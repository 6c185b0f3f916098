package query

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// textLimits are the limits on the text of a query. They are checked in one pass without recursion, before the parser,
// which is recursive, sees the text.
type textLimits struct {
	length int // bytes
	depth  int
}

// maxSelectors is the maximum number of selectors in one request.
const maxSelectors = 1000

// checked is a parser that enforces the limits on texts first. All texts of clients become expressions through it, so
// that no text can bypass the limits.
type checked struct {
	parser.Parser
	limits textLimits
}

// ParseExpr implements parser.Parser.
func (c checked) ParseExpr(text string) (parser.Expr, error) {
	if _, err := c.limits.check(text); err != nil {
		return nil, err
	}
	return c.Parser.ParseExpr(text)
}

// ParseMetric implements parser.Parser.
func (c checked) ParseMetric(text string) (labels.Labels, error) {
	if _, err := c.limits.check(text); err != nil {
		return labels.EmptyLabels(), err
	}
	return c.Parser.ParseMetric(text)
}

// ParseMetricSelector implements parser.Parser.
func (c checked) ParseMetricSelector(text string) ([]*labels.Matcher, error) {
	if _, err := c.limits.check(text); err != nil {
		return nil, err
	}
	return c.Parser.ParseMetricSelector(text)
}

// ParseMetricSelectors implements parser.Parser. It also limits the number of selectors.
func (c checked) ParseMetricSelectors(texts []string) ([][]*labels.Matcher, error) {
	if len(texts) > maxSelectors {
		return nil, fmt.Errorf("%d selectors exceed the maximum of %d", len(texts), maxSelectors)
	}
	if _, err := c.limits.check(texts...); err != nil {
		return nil, err
	}
	return c.Parser.ParseMetricSelectors(texts)
}

// ParseSeriesDesc implements parser.Parser.
func (c checked) ParseSeriesDesc(text string) (labels.Labels, []parser.SequenceValue, error) {
	if _, err := c.limits.check(text); err != nil {
		return labels.EmptyLabels(), nil, err
	}
	return c.Parser.ParseSeriesDesc(text)
}

// TextError reports that a text exceeds the limit on its length or depth.
type TextError struct {
	What    string
	Limit   int
	Setting string // the setting that raises the limit
}

func (e *TextError) Error() string {
	return fmt.Sprintf("query is more than %d %s; shorten it or raise %s", e.Limit, e.What, e.Setting)
}

var errPatterns = errors.New(
	"query's patterns are too costly to compile: use fewer wildcards, repetitions and classes, or several queries")

// Check reports whether text may be parsed. If the text is too long or too deep, the error is a *TextError. If its
// regular expressions are too costly, it is another error.
func (e *Engine) Check(text string) error {
	_, err := e.parser.limits.check(text)
	return err
}

// Parse parses a query. It first waits for a slot, because parsing can be as costly as evaluation.
func (e *Engine) Parse(ctx context.Context, text string) (expr parser.Expr, err error) {
	err = e.within(ctx, text, func() error {
		expr, err = e.parser.ParseExpr(text)
		return err
	})
	return expr, err
}

// maxFormat bounds the product of length in bytes and depth of a text that is formatted, because the formatter writes
// each level again for every enclosing level. The most expensive allowed text takes a few tenths of a second.
const maxFormat = 1 << 18

// Format returns a query's text with line breaks and indentation.
func (e *Engine) Format(ctx context.Context, text string) (pretty string, err error) {
	c, err := e.parser.limits.check(text)
	if err != nil {
		return "", err
	}
	if c.length*(1+c.depth) > maxFormat {
		return "", fmt.Errorf("query is too large to be formatted: %d bytes, %d levels", c.length, c.depth)
	}
	err = e.within(ctx, text, func() error {
		expr, err := e.parser.ParseExpr(text)
		if err == nil {
			pretty = expr.Pretty(0)
		}
		return err
	})
	return pretty, err
}

// Selectors parses selectors. It first waits for a slot.
func (e *Engine) Selectors(ctx context.Context, texts []string) (sets [][]*labels.Matcher, err error) {
	err = e.within(ctx, strings.Join(texts, ""), func() error {
		sets, err = e.parser.ParseMetricSelectors(texts)
		return err
	})
	return sets, err
}

// within waits for a slot, at most for the timeout of a query, and then runs parse.
func (e *Engine) within(ctx context.Context, text string, parse func() error) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	place, err := e.turnstile.Insert(ctx, text)
	if err != nil {
		return err
	}
	defer e.turnstile.Delete(place)
	return parse()
}
