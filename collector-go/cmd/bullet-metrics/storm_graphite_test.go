package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A path of storm-graphite and its metric, as a row of the page has them.
var ofGraphite = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|$")

// Each metric that the page names for a path has the path's values as a source. storm-graphite joins a map's name and
// its key with a dot, and appends "value" to the name of a plain number.
func TestTheStormGraphitePageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../../docs/storm-graphite.md")
	require.NoError(t, err)
	metrics, err := os.ReadFile("../../../proto/METRICS.md")
	require.NoError(t, err)
	rows := ofGraphite.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(rows), 20)
	for _, row := range rows {
		source, plain := strings.CutSuffix(row[1], "value")
		if !plain {
			source = strings.Replace(source, ".", " → ", 1)
		}
		_, entry, found := strings.Cut(string(metrics), "\n| `"+row[2]+"`")
		require.True(t, found, row[2])
		entry, _, _ = strings.Cut(entry, "\n")
		assert.Contains(t, entry, "`"+source+"`", row[2])
	}
}
