package searchfile

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The documentation describes each field of the files and each column of a table.
func TestThePageHasEachField(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/tune/search-file.md")
	require.NoError(t, err)
	fields := 0
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || of.PkgPath() != reflect.TypeFor[File]().PkgPath() ||
			of == reflect.TypeFor[Formula]() {
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
	walk(reflect.TypeFor[File]())
	walk(reflect.TypeFor[Space]())
	assert.Greater(t, fields, 40)
	for _, name := range columns {
		assert.Contains(t, string(page), "`"+name+"`")
	}
}
