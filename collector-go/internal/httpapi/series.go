package httpapi

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// selection is what the endpoints about labels and series are asked for.
type selection struct {
	startMs, endMs int64
	limit          int
	sets           [][]*labels.Matcher // none: everything
}

// selectionOf reads the parameters. wrap says how a bad match[] is answered: the endpoints differ, as Prometheus' do.
func (a *api) selectionOf(r *http.Request, wrap func(error) answer) (selection, *answer) {
	refuse := func(refused answer) (selection, *answer) { return selection{}, &refused }
	limit, err := limitParam(r)
	if err != nil {
		return refuse(invalid("limit", err))
	}
	start, err := timeParam(r, "start", minTime)
	if err != nil {
		return refuse(invalid("start", err))
	}
	end, err := timeParam(r, "end", maxTime)
	if err != nil {
		return refuse(invalid("end", err))
	}
	sets, err := matchers(a.engine.Parser(), r.Form["match[]"])
	if err != nil {
		return refuse(wrap(err))
	}
	return selection{timestamp.FromTime(start), timestamp.FromTime(end), limit, sets}, nil
}

func plainBadData(err error) answer { return failed(badData, err) }

// texts asks for each set of matchers, and merges.
func (s selection) texts(ask func(...*labels.Matcher) ([]string, annotations.Annotations, error)) answer {
	sets := s.sets
	if len(sets) == 0 {
		sets = [][]*labels.Matcher{nil}
	}
	found := map[string]struct{}{}
	var warnings annotations.Annotations
	for _, set := range sets {
		some, more, err := ask(set...)
		warnings = warnings.Merge(more)
		if err != nil {
			refused := failedQuery(err)
			refused.warnings = warnings
			return refused
		}
		for _, text := range some {
			found[text] = struct{}{}
		}
	}
	all := slices.Sorted(maps.Keys(found))
	if all == nil {
		all = []string{}
	}
	if s.limit > 0 && len(all) > s.limit {
		all = all[:s.limit]
		warnings = warnings.Add(errCut)
	}
	return answer{data: all, warnings: warnings}
}

// labelNames answers /api/v1/labels.
func (a *api) labelNames(r *http.Request) answer {
	wanted, refused := a.selectionOf(r, plainBadData)
	if refused != nil {
		return *refused
	}
	querier, err := a.engine.Querier(wanted.startMs, wanted.endMs)
	if err != nil {
		return failedQuery(err)
	}
	defer querier.Close()
	hints := &storage.LabelHints{Limit: hintLimit(wanted.limit)}
	return wanted.texts(func(set ...*labels.Matcher) ([]string, annotations.Annotations, error) {
		return querier.LabelNames(r.Context(), hints, set...)
	})
}

// labelValues answers /api/v1/label/<name>/values.
func (a *api) labelValues(r *http.Request) answer {
	name := r.PathValue("name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return failed(badData, fmt.Errorf("invalid label name: %q", name))
	}
	wanted, refused := a.selectionOf(r, plainBadData)
	if refused != nil {
		return *refused
	}
	querier, err := a.engine.Querier(wanted.startMs, wanted.endMs)
	if err != nil {
		return failed(execution, err)
	}
	defer querier.Close()
	hints := &storage.LabelHints{Limit: hintLimit(wanted.limit)}
	return wanted.texts(func(set ...*labels.Matcher) ([]string, annotations.Annotations, error) {
		return querier.LabelValues(r.Context(), name, hints, set...)
	})
}

// series answers /api/v1/series.
func (a *api) series(r *http.Request) answer {
	if err := r.ParseForm(); err != nil {
		return failed(badData, fmt.Errorf("error parsing form values: %w", err))
	}
	if len(r.Form["match[]"]) == 0 {
		return failed(badData, errNoMatch)
	}
	wanted, refused := a.selectionOf(r, func(err error) answer { return invalid("match[]", err) })
	if refused != nil {
		return *refused
	}
	querier, err := a.engine.Querier(wanted.startMs, wanted.endMs)
	if err != nil {
		return failedQuery(err)
	}
	defer querier.Close()
	return wanted.series(a.selectSeries(r, querier, wanted))
}

// selectSeries merges the series of several sets of matchers, each once.
func (a *api) selectSeries(r *http.Request, querier storage.Querier, wanted selection) storage.SeriesSet {
	hints := &storage.SelectHints{Start: wanted.startMs, End: wanted.endMs, Func: "series", Limit: hintLimit(wanted.limit)}
	if len(wanted.sets) == 1 {
		return querier.Select(r.Context(), false, hints, wanted.sets[0]...)
	}
	sets := make([]storage.SeriesSet, 0, len(wanted.sets))
	for _, set := range wanted.sets {
		sets = append(sets, querier.Select(r.Context(), true, hints, set...))
	}
	return storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
}

func (s selection) series(set storage.SeriesSet) answer {
	found := answer{data: []labels.Labels{}, warnings: set.Warnings()}
	all := []labels.Labels{}
	for set.Next() {
		if s.limit > 0 && len(all) == s.limit {
			found.warnings = found.warnings.Add(errCut)
			break
		}
		all = append(all, set.At().Labels())
	}
	if err := set.Err(); err != nil {
		return failedQuery(err)
	}
	found.data = all
	return found
}

// metadata answers /api/v1/metadata.
func (a *api) metadata(r *http.Request) answer {
	limit, err := countParam(r, "limit")
	if err != nil {
		return failed(badData, err)
	}
	perMetric, err := countParam(r, "limit_per_metric")
	if err != nil {
		return failed(badData, err)
	}
	known, only := a.described(), r.FormValue("metric")
	result := map[string][]description{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if limit >= 0 && len(result) >= limit {
			break
		}
		if only == "" || only == name {
			result[name] = []description{{known[name].Type, known[name].Unit, known[name].Help}}
		}
	}
	_ = perMetric // a metric has one description here, and a limit of 0 means none
	return answer{data: result}
}

// description is a metric's metadata in Prometheus' form.
type description struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
	Help string `json:"help"`
}

func (a *api) described() map[string]Metadata {
	if a.options.Metadata == nil {
		return nil
	}
	return a.options.Metadata.Metadata()
}

// countParam is -1 where it is not given.
func countParam(r *http.Request, name string) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, errors.New(name + " must be a number")
	}
	return n, nil
}
