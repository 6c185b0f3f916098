package rulesengine

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// loader provides the rule manager with files that are in memory. It has no lock, because Evaluator.mu is held while
// the manager loads.
type loader struct {
	files  map[string][]byte
	parser parser.Parser
	logger *slog.Logger
}

func newLoader(files []File, p parser.Parser, logger *slog.Logger) *loader {
	l := &loader{files: map[string][]byte{}, parser: p, logger: logger}
	for _, f := range files {
		l.files[f.Name] = f.Text
	}
	return l
}

// Load implements rules.GroupLoader. Every error names file and line.
func (l *loader) Load(name string, ignoreUnknown bool, scheme model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	// rulefmt would silently ignore a second document.
	if second, is := errors.AsType[yamlfile.SecondDocument](yamlfile.OneDocument(l.files[name])); is {
		return nil, []error{fmt.Errorf("%s:%d: %w", name, second.Line, second)}
	}
	groups, errs := rulefmt.Parse(l.files[name], ignoreUnknown, scheme, l.parser, l.logger)
	for i, err := range errs {
		errs[i] = yamlfile.LibraryFaults(name, err)
	}
	return groups, errs
}

// Parse implements rules.GroupLoader.
func (l *loader) Parse(query string) (parser.Expr, error) { return l.parser.ParseExpr(query) }

// Check parses files as New does. The error names file and line of every invalid rule.
func Check(files []File, p parser.Parser) error {
	_, err := newLoader(files, p, slog.New(slog.DiscardHandler)).check(files)
	return err
}

// check parses every file and returns their names.
func (l *loader) check(files []File) (names []string, err error) {
	var all []error
	for _, f := range files {
		if slices.Contains(names, f.Name) {
			all = append(all, fmt.Errorf("alerting: rule file %s is listed twice", f.Name))
			continue
		}
		names = append(names, f.Name)
		_, errs := l.Load(f.Name, false, model.UTF8Validation)
		all = append(all, errs...)
	}
	return names, errors.Join(all...)
}
