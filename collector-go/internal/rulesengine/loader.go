package rulesengine

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/yamlfile"
)

// loader gives the rule manager files that are in memory.
type loader struct {
	files  map[string][]byte
	parser parser.Parser
	logger *slog.Logger
}

func newLoader(files []File, p parser.Parser, logger *slog.Logger) loader {
	l := loader{files: map[string][]byte{}, parser: p, logger: logger}
	for _, f := range files {
		l.files[f.Name] = f.Text
	}
	return l
}

// Load parses one file; every error names file and line.
func (l loader) Load(name string, ignoreUnknown bool, scheme model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	var second yamlfile.SecondDocument
	if err := yamlfile.OneDocument(l.files[name]); errors.As(err, &second) { // rulefmt would not say that it drops it
		return nil, []error{fmt.Errorf("%s:%d: %w", name, second.Line, err)}
	}
	groups, errs := rulefmt.Parse(l.files[name], ignoreUnknown, scheme, l.parser, l.logger)
	for i, err := range errs {
		errs[i] = yamlfile.LibraryFaults(name, err)
	}
	return groups, errs
}

// Parse reads a rule's expression.
func (l loader) Parse(query string) (parser.Expr, error) { return l.parser.ParseExpr(query) }

// Check parses files as New does; the error names file and line of every rule that cannot be.
func Check(files []File, p parser.Parser) error {
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return newLoader(files, p, slog.New(slog.DiscardHandler)).check(names)
}

// check parses every file.
func (l loader) check(names []string) error {
	var all []error
	for _, name := range names {
		_, errs := l.Load(name, false, model.UTF8Validation)
		all = append(all, errs...)
	}
	return errors.Join(all...)
}
