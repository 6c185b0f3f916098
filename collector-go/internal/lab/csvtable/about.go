package csvtable

import (
	"fmt"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Measurement is what a table describes. Its values are the words that messages use.
type Measurement string

// The measurements that a table can hold.
const (
	OfResources Measurement = "components"
	OfQueries   Measurement = "filter bolts by queries"
	OfData      Measurement = "data volumes"
)

// About returns what a table describes, judged by its columns. It reads only the header and checks no cell. If the
// table has the columns of several measurements, the most specific one wins: a grid of queries, then data volumes, then
// components.
func About(path string) (Measurement, error) {
	data, err := read(path)
	if err != nil {
		return "", err
	}
	t := &Table{name: path, places: map[string]int{}, columns: []Column{{Name: tuning.ColumnFilterBolts},
		{Name: tuning.ColumnDataRate}, {Name: tuning.ColumnComponent}}}
	head, err := t.records(data)
	if err != nil {
		return "", err
	}
	for i, name := range head {
		t.places[strings.ToLower(strings.TrimSpace(name))] = i
	}
	switch {
	case t.Has(tuning.ColumnFilterBolts):
		return OfQueries, nil
	case t.Has(tuning.ColumnDataRate):
		return OfData, nil
	case t.Has(tuning.ColumnComponent):
		return OfResources, nil
	}
	return "", fmt.Errorf("%s: line 1: the kind of the table is unknown, because it has none of the columns %s (a grid of queries), %s (data volumes) and %s (components)",
		path, tuning.ColumnFilterBolts, tuning.ColumnDataRate, tuning.ColumnComponent)
}
