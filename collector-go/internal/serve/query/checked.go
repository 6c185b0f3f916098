package query

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// textLimits are those of a query's text, which is looked at once, from front to back, before anything recurses over
// it.
type textLimits struct {
	length int // bytes
	depth  int
}

// maxSelectors is how many selectors one request may name.
const maxSelectors = 1000

// checked is the one door by which text becomes an expression.
type checked struct {
	parser.Parser
	limits textLimits
}

// ParseExpr parses a query.
func (c checked) ParseExpr(text string) (parser.Expr, error) {
	if _, err := c.limits.check(text); err != nil {
		return nil, err
	}
	return c.Parser.ParseExpr(text)
}

// ParseMetric parses a series.
func (c checked) ParseMetric(text string) (labels.Labels, error) {
	if _, err := c.limits.check(text); err != nil {
		return labels.EmptyLabels(), err
	}
	return c.Parser.ParseMetric(text)
}

// ParseMetricSelector parses a selector.
func (c checked) ParseMetricSelector(text string) ([]*labels.Matcher, error) {
	if _, err := c.limits.check(text); err != nil {
		return nil, err
	}
	return c.Parser.ParseMetricSelector(text)
}

// ParseMetricSelectors parses selectors.
func (c checked) ParseMetricSelectors(texts []string) ([][]*labels.Matcher, error) {
	if len(texts) > maxSelectors {
		return nil, fmt.Errorf("%d selectors: at most %d are allowed", len(texts), maxSelectors)
	}
	if _, err := c.limits.check(texts...); err != nil {
		return nil, err
	}
	return c.Parser.ParseMetricSelectors(texts)
}

// ParseSeriesDesc parses a series with its values, as rules' tests have them.
func (c checked) ParseSeriesDesc(text string) (labels.Labels, []parser.SequenceValue, error) {
	if _, err := c.limits.check(text); err != nil {
		return labels.EmptyLabels(), nil, err
	}
	return c.Parser.ParseSeriesDesc(text)
}

// TextError reports that a text is too long or too deep to be parsed.
type TextError struct {
	What    string
	Limit   int
	Setting string // the key to raise
}

func (e *TextError) Error() string {
	return fmt.Sprintf("query is more than %d %s; shorten it, or raise %s", e.Limit, e.What, e.Setting)
}

var errPatterns = errors.New(
	"query's patterns are too costly to compile: use fewer wildcards, repetitions and classes, or several queries")

// Check reports whether text is short, shallow and cheap enough to be parsed; a *TextError where it is too long or too
// deep.
func (e *Engine) Check(text string) error {
	_, err := e.parser.limits.check(text)
	return err
}

// Parse parses a query when there is a place for it, as one that is to be evaluated.
func (e *Engine) Parse(ctx context.Context, text string) (expr parser.Expr, err error) {
	err = e.within(ctx, text, func() error {
		expr, err = e.parser.ParseExpr(text)
		return err
	})
	return expr, err
}

// maxFormat bounds bytes times levels of what is formatted, since each level is written again for each level around it.
// Within it the dearest takes a few tenths of a second.
const maxFormat = 1 << 18

// Format is a query's text with line breaks and indentation.
func (e *Engine) Format(ctx context.Context, text string) (pretty string, err error) {
	c, err := e.parser.limits.check(text)
	if err != nil {
		return "", err
	}
	if c.length*(1+c.depth) > maxFormat {
		return "", fmt.Errorf("query is %d bytes long and up to %d levels deep: too large to be formatted",
			c.length, c.depth)
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

// Selectors parses selectors when there is a place for them.
func (e *Engine) Selectors(ctx context.Context, texts []string) (sets [][]*labels.Matcher, err error) {
	err = e.within(ctx, strings.Join(texts, ""), func() error {
		sets, err = e.parser.ParseMetricSelectors(texts)
		return err
	})
	return sets, err
}

// within waits for a place and runs what parses.
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
