// Package archtest holds the rules of the source as tests: which folder may import which, which library stands where,
// how long a line is, which words are not used.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/bullet-metrics/bullet-metrics/collector-go/"

// folders lists what each folder of the program may import; each may import itself. Production code never imports
// testing. Tests may, because the suites that every implementation of a port must pass are there.
var folders = map[string][]string{
	"gen":                {},
	"internal/lib":       {"gen"},
	"internal/config":    {"internal/lib"},
	"internal/collector": {"internal/lib", "gen"},
	"internal/storm":     {"internal/lib", "internal/collector/catalog"},
	"internal/serve":     {"internal/lib", "internal/collector", "internal/storm", "gen"},
	// It reaches a collector over HTTP and the ingest protocol only.
	"internal/lab": {"internal/lib", "internal/storm", "gen"},
	"cmd":          {"internal", "gen"},
	"testing":      {"internal", "tools", "gen"},
	"tools":        {"internal/lib"},
}

// ports lists packages that some others may import as well, because two folders agree on them.
var ports = map[string][]string{
	// each kind of store has settings of its own
	"internal/collector/store/forward": {"internal/config"},
	// the form in which the API reports how complete the samples are
	"internal/collector/collection": {"internal/lab"},
	// the runs that the page lists
	"internal/lab/runindex": {"internal/serve/httpapi"},
}

// pure packages take time and input as values: they have no clock, no I/O and no goroutine. The table lists the imports
// that would break that.
var pure = map[string][]string{
	"internal/collector/slicer": {"os", "net", "io/fs", "net/http", "log/slog", "sync", "context"},
	"internal/storm/busy":       {"os", "net", "io/fs", "net/http", "log/slog", "sync", "context"},
	"internal/lab/tuning":       {"os", "net", "io/fs", "net/http", "log/slog", "sync", "context"},
	"internal/lab/optimize":     {"os", "net", "io/fs", "net/http", "log/slog", "sync", "context", "time"},

	"internal/collector/catalog": {"os", "net", "io/fs", "net/http", "log/slog", "context"},
	"internal/collector/slice":   {"os", "net", "io/fs", "net/http", "log/slog", "sync", "context"},

	"internal/collector/store/grid/column": {"os", "net", "io/fs", "net/http", "log/slog", "sync", "context"},

	"testing/bench/answer": {"os", "net", "io/fs", "net/http", "log/slog", "sync", "context"},

	"internal/lib/metric":        {"os", "io/fs", "net/http", "log/slog", "sync", "context"},
	"internal/storm/stormconfig": {"internal/lib/address", "os", "io/fs", "net/http", "log/slog", "sync", "context"},
	"internal/storm/doctor":      {"os", "io/fs", "net/http", "log/slog", "sync", "context"},
	"internal/serve/dashboard":   {"os", "io/fs", "net/http", "log/slog", "sync", "context"},
	"internal/serve/alertrules":  {"os", "io/fs", "net/http", "log/slog", "sync", "context"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

// packages lists our packages, as the go command sees them.
func packages(t *testing.T) []listed {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	require.NoError(t, err)
	var all []listed
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			require.Greater(t, len(all), 5, "go list found too little to judge")
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

func TestImportsPointDown(t *testing.T) {
	below := func(name string, folders ...string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool {
			return name == folder || strings.HasPrefix(name, folder+"/")
		})
	}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		var folder string
		for f := range folders {
			if below(name, f) {
				folder = f
			}
		}
		if !assert.NotEmpty(t, folder, "%s is in none of the folders of this test", name) {
			continue
		}
		for _, imported := range p.Imports {
			ours, found := strings.CutPrefix(imported, module)
			if found && !below(ours, append(folders[folder], folder)...) && !below(name, ports[ours]...) {
				assert.Fail(t, "an import that the folders do not allow", "%s imports %s", name, ours)
			}
		}
	}
}

func TestPurePackagesTouchNoWorld(t *testing.T) {
	for _, p := range packages(t) {
		for _, forbidden := range pure[strings.TrimPrefix(p.ImportPath, module)] {
			assert.NotContains(t, p.Imports, forbidden, "%s is pure", p.ImportPath)
		}
	}
}

// Only the listed packages import these libraries, so that each can be replaced in one place.
func TestLibrariesHaveOnePackage(t *testing.T) {
	owners := map[string][]string{
		"github.com/prometheus/prometheus/tsdb":  {"internal/collector/store/blocks", "internal/serve/rulesengine"},
		"github.com/prometheus/prometheus/rules": {"internal/serve/rulesengine", "internal/serve/httpapi"},
		// its values and errors are what an engine elsewhere answers
		"github.com/prometheus/prometheus/promql": {"internal/serve/query", "internal/serve/query/remote", "internal/serve/httpapi",
			"internal/serve/rulesengine"},
		"google.golang.org/grpc": {"internal/collector/ingest", "internal/lib/sender", "internal/lab/bench",
			"testing/bench/floor", "testing/bench/peer", "testing/chaos", "gen/bulletmetrics/v1"},
		"gonum.org/v1/plot": {"internal/lib/chart"},
	}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "testing/") {
			continue
		}
		for library, may := range owners {
			for _, path := range p.Imports {
				if path == library {
					assert.Contains(t, may, name, "%s imports %s", name, library)
				}
			}
		}
	}
}
