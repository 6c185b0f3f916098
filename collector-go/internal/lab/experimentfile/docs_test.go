package experimentfile

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// fieldsOf returns the paths of all fields, such as "goals[].figure".
func fieldsOf(t reflect.Type, prefix string) (all []string) {
	switch t.Kind() {
	case reflect.Pointer:
		if t.Elem() == reflect.TypeFor[Search]() {
			return nil
		}
		return fieldsOf(t.Elem(), prefix)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct && t != reflect.TypeFor[Settings]() {
			return fieldsOf(t.Elem(), prefix+"[]")
		}
		return nil
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[yamlfile.Text]()) {
			return nil
		}
	default:
		return nil
	}
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("yaml")
		if name == "" {
			continue
		}
		if prefix != "" {
			name = prefix + "." + name
		}
		if inner := fieldsOf(t.Field(i).Type, name); len(inner) > 0 {
			all = append(all, inner...)
		} else {
			all = append(all, name)
		}
	}
	return all
}

var row = regexp.MustCompile("(?m)^\\| `([a-z_.\\[\\]]+)` \\|")

// The documentation describes each field of a search and of a space file, and each column of a table.
func TestThePageOfSearchesHasEachField(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/tune/search-file.md")
	require.NoError(t, err)
	fields := 0
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || of.PkgPath() != reflect.TypeFor[File]().PkgPath() ||
			reflect.PointerTo(of).Implements(reflect.TypeFor[yamlfile.Text]()) {
			return
		}
		for i := range of.NumField() {
			field := of.Field(i)
			if name := field.Tag.Get("yaml"); name != "" {
				fields++
				assert.True(t, strings.Contains(string(page), "`"+name+"`") ||
					strings.Contains(string(page), "."+name+"`"), "docs/tune/search-file.md has no %s", name)
			}
			if field.Anonymous || field.Tag.Get("yaml") != "" {
				walk(field.Type)
			}
		}
	}
	walk(reflect.TypeFor[Search]())
	walk(reflect.TypeFor[SpaceFile]())
	assert.Greater(t, fields, 40)
	for _, name := range columns {
		assert.Contains(t, string(page), "`"+name+"`")
	}
}

// The documentation pages have a row for each field and no other row. The search section has a page of its own.
func TestThePagesHaveEveryField(t *testing.T) {
	read := func(file string) string {
		page, err := os.ReadFile("../../../../docs/" + file)
		require.NoError(t, err)
		return string(page)
	}
	documented := firstCells(read("experiments.md") + read("tune/experiment-load.md"))
	assert.Equal(t, fieldsOf(reflect.TypeFor[File](), ""), documented,
		"docs/experiments.md and docs/tune/experiment-load.md list the fields in the order of File")
	figures := read("tune/figures.md")
	var known []string
	for _, figure := range tuning.GoalFigures() {
		known = append(known, string(figure))
		assert.Contains(t, figures,
			fmt.Sprintf("| `%s` | %s |", figure, strings.Join(tuning.Texts(figure.Statistics()), ", ")))
	}
	assert.Equal(t, known, firstCells(figures))
}

func firstCells(page string) (cells []string) {
	for _, found := range row.FindAllStringSubmatch(page, -1) {
		cells = append(cells, found[1])
	}
	return cells
}
