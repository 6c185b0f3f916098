package grid

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// index finds the series of a table by label values. Ids in each list ascend, so that lists can be united cheaply. It
// lives as long as the table; nothing is ever removed from it.
type index struct {
	byName map[string]map[string][]uint32 // ids ascending
}

func newIndex() index { return index{byName: map[string]map[string][]uint32{}} }

// add takes a series, whose id is above all before, and returns what that takes of memory, about.
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

// find is the ids of the series that all matchers match, ascending.
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

// matches reports whether labels meet all matchers. A label that is absent has the value "".
func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

// candidates returns series that include all those that the matchers match. It prefers a matcher that names values,
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

// exact is the values that a matcher asks for, if it names them.
func exact(m *labels.Matcher) []string {
	if m.Type == labels.MatchEqual {
		return []string{m.Value}
	}
	if m.Type == labels.MatchRegexp {
		return m.SetMatches()
	}
	return nil
}

// union returns the ids of the series that have one of the values, ascending and each once.
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
