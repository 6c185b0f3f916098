package csvtable

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// header finds the columns. An unknown column is noted and ignored. A name that is nearly the name of a missing column
// is an error and not a note. Otherwise nobody would notice that a misspelled optional column is ignored. A file
// separated by semicolons or tabs has a single column and gets its own error.
func (t *Table) header(head []string) error {
	if len(head) == 1 {
		for separator, word := range map[string]string{";": "semicolons", "\t": "tabs"} {
			if strings.Contains(head[0], separator) {
				return fmt.Errorf("%s: line 1: the columns are separated by %s; separate them by commas, and write decimals with a point",
					t.name, word)
			}
		}
	}
	var wrong []error
	var strangers, missing []string
	for i, cell := range head {
		name := strings.ToLower(strings.TrimSpace(cell))
		if earlier, twice := t.places[name]; twice {
			wrong = append(wrong, fmt.Errorf("%s: line 1, column %d: duplicate column %s, first as column %d", t.name,
				i+1, name, earlier+1))
			continue
		}
		t.places[name] = i
		if !slices.ContainsFunc(t.columns, func(c Column) bool { return c.Name == name }) {
			strangers = append(strangers, name)
		}
	}
	for _, c := range t.columns {
		if _, there := t.places[c.Name]; there {
			continue
		}
		near, distance := nearest(c.Name, strangers)
		switch {
		case distance <= slip(c.Name):
			wrong = append(wrong, fmt.Errorf("%s: line 1, column %d: unknown column %q; did you mean %s?%s", t.name,
				t.places[near]+1, near, c.Name, otherUnit(near, c.Name)))
		case !c.Optional:
			missing = append(missing, c.Name)
		}
	}
	if len(missing) > 0 {
		wrong = append(wrong, t.Missing(missing...))
	}
	for _, s := range strangers {
		t.Notes = append(t.Notes, fmt.Sprintf("column %q of %s is not used", s, t.name))
	}
	return errors.Join(wrong...)
}

// units are the units with which the names of columns end.
var units = []string{"ms", "mib", "cores", "minute", "s"}

// otherUnit returns a warning if the two names differ in their unit, else "". The warning is added to the suggestion to
// rename a column. A column that is only renamed would keep its values in the old unit.
func otherUnit(name, known string) string {
	unit := known[strings.LastIndex(known, "_")+1:]
	if unit == name[strings.LastIndex(name, "_")+1:] || !slices.Contains(units, unit) {
		return ""
	}
	return fmt.Sprintf(" Its values are in %s; convert values of another unit", unit)
}

// required returns the columns that a table must have, in the order in which messages list them.
func (t *Table) required() (names []string) {
	for _, c := range t.columns {
		if !c.Optional {
			names = append(names, c.Name)
		}
	}
	return names
}

// Missing returns the error for absent columns. It names the nearest column that is there for each. It modifies the
// elements of columns.
func (t *Table) Missing(columns ...string) error {
	for i, column := range columns {
		columns[i] += t.near(column)
	}
	verb := "column %s is missing"
	if len(columns) > 1 {
		verb = "columns %s are missing"
	}
	return fmt.Errorf("%s: line 1: "+verb+"; the table needs the columns %s", t.name, strings.Join(columns, ", "),
		strings.Join(t.required(), ", "))
}

// near points to the column whose name resembles a missing one most. It returns "" if no name is similar.
func (t *Table) near(column string) string {
	if near, distance := nearest(column, slices.Sorted(maps.Keys(t.places))); distance <= len(column)/2 {
		return fmt.Sprintf(" (the nearest there is %q)", near)
	}
	return ""
}
