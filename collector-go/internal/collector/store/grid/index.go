package grid

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// index finds the series of a table by label values. The ids in each list ascend, so that lists can be united cheaply.
// It lives as long as the table, and nothing is ever removed from it.
type index struct {
	byName map[string]map[string][]uint32 // name, value, ascending ids
}

func newIndex() index { return index{byName: map[string]map[string][]uint32{}} }

// add adds a series, whose id must be above all earlier ones. It returns an estimate of the memory that this takes.
func (x *index) add(l labels.Labels, id uint32) (bytes int) {
	l.Range(func(l labels.Label) {
		values := x.byName[l.Name]
		if values == nil {
			values = map[string][]uint32{}
			x.byName[l.Name] = values
			bytes += 300
		}
		ids, known := values[l.Value]
		if !known {
			bytes += 64
		}
		values[l.Value] = append(ids, id)
		bytes += 5
	})
	return bytes
}

// find returns the ids of the series that all matchers match, in ascending order.
func (x *index) find(all []labels.Labels, matchers []*labels.Matcher) []uint32 {
	var found []uint32
	candidates, narrowed := x.candidates(matchers)
	if !narrowed {
		for id, l := range all {
			if matches(l, matchers) {
				found = append(found, uint32(id))
			}
		}
		return found
	}
	for _, id := range candidates {
		if matches(all[id], matchers) {
			found = append(found, id)
		}
	}
	return found
}

// matches reports whether labels satisfy all matchers. A missing label has the value "".
func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

// candidates returns a set of series that includes all that the matchers match. It prefers a matcher that names values,
// since a regular expression has to be tried with every value of its label. narrowed is false if no matcher limits the
// series.
func (x *index) candidates(matchers []*labels.Matcher) (ids []uint32, narrowed bool) {
	for _, m := range matchers {
		if values := exact(m); values != nil && !m.Matches("") {
			if found := x.union(m.Name, values); !narrowed || len(found) < len(ids) {
				ids, narrowed = found, true
			}
		}
	}
	if narrowed {
		return ids, true
	}
	for _, m := range matchers {
		if m.Matches("") {
			continue
		}
		var values []string
		for value := range x.byName[m.Name] {
			if m.Matches(value) {
				values = append(values, value)
			}
		}
		if found := x.union(m.Name, values); !narrowed || len(found) < len(ids) {
			ids, narrowed = found, true
		}
	}
	return ids, narrowed
}

// exact returns the values that a matcher asks for, or nil if it does not list them.
func exact(m *labels.Matcher) []string {
	if m.Type == labels.MatchEqual {
		return []string{m.Value}
	}
	if m.Type == labels.MatchRegexp {
		return m.SetMatches()
	}
	return nil
}

// union returns the ids of the series that have one of the values, in ascending order and without duplicates.
func (x *index) union(name string, values []string) []uint32 {
	if len(values) == 1 {
		return x.byName[name][values[0]]
	}
	var ids []uint32
	for _, value := range values {
		ids = append(ids, x.byName[name][value]...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
