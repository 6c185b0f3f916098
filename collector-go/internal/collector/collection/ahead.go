package collection

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
)

// ReadByClocks is like Read, for a topology with workers whose clocks are wrong. ahead has the error of each worker's
// clock. Samples are stored at the worker's time, so a worker whose clock is minutes off has no samples in the
// requested range. For such a worker the range is shifted by the error of its clock, and its answer is joined to that
// of the others.
func ReadByClocks(ctx context.Context, ask Ask, topology string, start, end time.Time,
	ahead map[string]time.Duration) (*Collection, error) {
	all, err := Read(ctx, ask, topology, start, end)
	if err != nil {
		return nil, err
	}
	missed := map[time.Duration][]string{}
	for worker, by := range ahead {
		by = by.Round(catalog.CollectionPeriod)
		if by != 0 && !slices.ContainsFunc(all.Workers, func(w Worker) bool { return w.Worker == worker }) {
			missed[by] = append(missed[by], worker)
		}
	}
	for _, by := range slices.Sorted(maps.Keys(missed)) {
		r := newReading(ctx, ask, topology, start.Add(by), end.Add(by))
		r.only = ",worker=~" + strconv.Quote(alternatives(missed[by]))
		part, err := r.read()
		if err != nil {
			return nil, err
		}
		if len(part.Workers) > 0 {
			joined := part.Join(all)
			joined.Start, joined.End = all.Start, all.End
			all = joined
		}
	}
	return all, nil
}

// alternatives returns a regular expression that matches exactly the given names. It sorts names in place.
func alternatives(names []string) string {
	slices.Sort(names)
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return strings.Join(quoted, "|")
}
