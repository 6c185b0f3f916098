package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// selection is the part that the endpoints for labels, label values and series have in common: the parsed parameters
// and a querier. The querier stays open until the answer is written, because a result may refer to the store's memory.
type selection struct {
	limit     int
	selectors [][]*labels.Matcher
	querier   storage.Querier
	minMs     int64
	maxMs     int64
}

// labelNames answers /labels: the names of labels, sorted.
func (a *api) labelNames(r request) answer {
	s, invalid := a.selected(r, badData)
	if invalid != nil {
		return *invalid
	}
	return s.words(r.Context(), s.querier.LabelNames)
}

// labelValues answers /label/<name>/values: the values of one label, sorted.
func (a *api) labelValues(r request) answer {
	name := r.PathValue("name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return badData(fmt.Errorf("invalid label name: %q", name))
	}
	s, invalid := a.selected(r, badData)
	if invalid != nil {
		return *invalid
	}
	return s.words(r.Context(), func(ctx context.Context, hints *storage.LabelHints, m ...*labels.Matcher) ([]string,
		annotations.Annotations, error) {
		return s.querier.LabelValues(ctx, name, hints, m...)
	})
}

// series answers /series: the label sets of the selected series.
func (a *api) series(r request) answer {
	if r.formError != nil {
		return badData(fmt.Errorf("error parsing form values: %w", r.formError))
	}
	if len(r.Form["match[]"]) == 0 {
		return badData(errors.New("no match[] parameter provided"))
	}
	s, invalid := a.selected(r, func(err error) answer { return invalidParameter("match[]", err) })
	if invalid != nil {
		return *invalid
	}
	return s.list(a.options.Engine.Bounded(r.Context()))
}

// selected reads the parameters and opens a querier for them. wrong makes the answer to an invalid selector.
func (a *api) selected(r request, wrong func(error) answer) (*selection, *answer) {
	limit, wrongLimit := limitParameter(r)
	start, end, wrongTime := timeRange(r)
	if err := cmp.Or(wrongLimit, wrongTime); err != nil {
		return nil, &answer{err: &apiError{errorBadData, err}}
	}
	selectors, err := parseSelectors(r.Context(), a.options.Engine, r.Form["match[]"])
	if err != nil {
		invalid := unparsed(err, wrong)
		return nil, &invalid
	}
	s := &selection{limit: limit, selectors: selectors, minMs: timestamp.FromTime(start),
		maxMs: timestamp.FromTime(end)}
	if s.querier, err = a.options.Engine.Querier(s.minMs, s.maxMs); err != nil {
		return nil, &answer{err: failed(err)}
	}
	return s, nil
}

func (s *selection) close() { _ = s.querier.Close() }

// words returns the sorted names or values that ask finds for all selectors, without duplicates.
func (s *selection) words(ctx context.Context, ask func(context.Context, *storage.LabelHints, ...*labels.Matcher) (
	[]string, annotations.Annotations, error)) answer {
	selectors := s.selectors
	if len(selectors) == 0 {
		selectors = [][]*labels.Matcher{nil}
	}
	all, warnings := []string{}, annotations.Annotations{}
	for _, matchers := range selectors {
		found, w, err := ask(ctx, &storage.LabelHints{Limit: hintLimit(s.limit)}, matchers...)
		if err != nil {
			return answer{err: failed(err), warnings: warnings, done: s.close}
		}
		warnings.Merge(w)
		all = append(all, found...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if s.limit > 0 && len(all) > s.limit {
		all = slices.Clone(all[:s.limit])
		warnings.Add(errTruncated)
	}
	return answer{data: all, warnings: warnings, done: s.close}
}

// checkEvery is how many series are listed between two checks whether the client is still connected.
const checkEvery = 128

// list returns the label sets of the selected series.
func (s *selection) list(ctx context.Context) answer {
	found := s.find(ctx)
	all, warnings := []labels.Labels{}, found.Warnings()
	for n := 1; found.Next(); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return answer{err: failed(ctx.Err()), warnings: warnings, done: s.close}
		}
		all = append(all, found.At().Labels())
		if s.limit > 0 && len(all) > s.limit {
			warnings.Add(errTruncated)
			return answer{data: all[:s.limit], warnings: warnings, done: s.close}
		}
	}
	if err := found.Err(); err != nil {
		return answer{err: failed(err), warnings: warnings, done: s.close}
	}
	return answer{data: all, warnings: warnings, done: s.close}
}

// find selects series without their samples. With several selectors the series are sorted, so that the merge removes
// duplicates.
func (s *selection) find(ctx context.Context) storage.SeriesSet {
	hints := &storage.SelectHints{Start: s.minMs, End: s.maxMs, Func: "series", Limit: hintLimit(s.limit)}
	if len(s.selectors) == 1 {
		return s.querier.Select(ctx, false, hints, s.selectors[0]...)
	}
	var sets []storage.SeriesSet
	for _, matchers := range s.selectors {
		sets = append(sets, s.querier.Select(ctx, true, hints, matchers...))
	}
	return storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
}
