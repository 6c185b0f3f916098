package busy

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the page's copy of the definition")

const pageCopy = "../../serve/webui/static/js/busy.js"

// The page uses the same definition.
func TestThePageAsksByTheSameDefinition(t *testing.T) {
	want := "// Made by `go test ./internal/storm/busy -update`; that package says what busy means.\n\n" +
		"/** busyShare is PromQL for the busy share of each task: what is not known has no series. */\n" +
		"export const busyShare = (topology, components, window) =>\n  `" +
		Query("${topology}", "${components}", "${window}") + "`;\n"
	if *update {
		require.NoError(t, os.WriteFile(pageCopy, []byte(want), 0o644))
	}
	got, err := os.ReadFile(pageCopy)
	require.NoError(t, err)
	assert.Equal(t, want, string(got))
}

// Storm's gauge alone is not a busy share. All code that needs one uses the definition.
func TestNobodyElseAsksForStormsGauge(t *testing.T) {
	for _, dir := range []string{"../../serve/webui/static/js", "../../serve/dashboard", "../../serve/diagnosis", "../../serve/alertrules"} {
		files, err := filepath.Glob(dir + "/*.*")
		require.NoError(t, err)
		require.NotEmpty(t, files, dir)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || file == pageCopy {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			asked := strings.ReplaceAll(string(text), "count(storm_capacity_ratio", "") // only checks for the gauge
			assert.False(t, strings.Contains(asked, "storm_capacity_ratio"), file)
		}
	}
}
