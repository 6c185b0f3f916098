// Package archtest holds the rules of the house as tests: which package may import which.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/bullet-metrics/bullet-metrics/collector-go/"

// allowed is the staircase: what each package of ours may import of ours, test code apart. A package that is missing
// here fails the test, so that a new room is given its place before it is furnished. ROOM/* are the rooms in a room
// that have no line of their own.
var allowed = map[string][]string{
	"gen/bulletmetrics/v1":     {},
	"internal/lib/varint":      {},
	"internal/lib/format":      {},
	"internal/lib/metric":      {"internal/lib/varint", "internal/lib/format"},
	"internal/collector/slice": {"internal/lib/metric"},
	"internal/lib/disk":        {},
	"internal/lib/yamlfile":    {},
	"internal/lib/address":     {},
	"internal/lib/pathname":    {},
	"internal/lib/textfile":    {"internal/lib/pathname"},
	"internal/lib/httpclient":  {"internal/lib/address", "internal/lib/textfile"},
	"internal/lib/block":       {},
	"internal/collector/journal": {"internal/lib/varint", "internal/lib/disk", "internal/lib/format", "internal/lib/block", "internal/lib/metric",
		"gen/bulletmetrics/v1"},
	"internal/collector/handover": {"internal/collector/journal"},
	"internal/collector/ingest": {"internal/lib/access", "internal/collector/framepool", "internal/lib/quota", "internal/lib/block",
		"internal/collector/handover", "internal/collector/journal", "internal/lib/metric", "gen/bulletmetrics/v1"},
	"internal/collector/catalog":    {"internal/lib/metric", "gen/bulletmetrics/v1"},
	"internal/collector/clockbound": {},
	"internal/collector/slicer":     {"internal/lib/block", "internal/collector/clockbound", "internal/collector/slice", "internal/lib/metric"},
	"internal/collector/checkpoint": {"internal/lib/disk", "internal/lib/format", "internal/collector/journal"},
	"internal/collector/feed": {"internal/lib/varint", "internal/lib/block", "internal/collector/checkpoint", "internal/lib/disk",
		"internal/lib/format", "internal/collector/handover", "internal/collector/journal", "internal/collector/catalog", "internal/collector/slicer", "internal/collector/slice", "internal/lib/metric",
		"gen/bulletmetrics/v1"},
	"internal/storm/nimbus": {},
	"internal/collector/registry": {"internal/collector/checkpoint", "internal/collector/clockbound", "internal/lib/disk", "internal/collector/journal", "internal/lib/metric",
		"gen/bulletmetrics/v1"},
	"internal/collector/store/grid": {"internal/lib/disk", "internal/lib/format", "internal/collector/slice", "internal/lib/metric", "internal/collector/store/grid/run",
		"internal/collector/store/grid/part", "internal/collector/store/grid/read"},
	"internal/collector/store/grid/part": {"internal/lib/varint", "internal/lib/disk", "internal/lib/format", "internal/collector/store/grid/run",
		"internal/collector/store/grid/column"},
	"internal/collector/store/grid/read":   {"internal/collector/store/grid/run", "internal/collector/store/plan"},
	"internal/collector/store/grid/run":    {},
	"internal/collector/store/grid/column": {},
	"internal/collector/store/blocks":      {},
	"internal/collector/store/classic":     {},
	"internal/collector/store/forward": {"internal/lib/address", "internal/lib/httpclient", "internal/lib/disk", "internal/lib/format",
		"internal/collector/slice"},
	// a store on the network
	"internal/collector/store/*":    {"internal/collector/store/forward", "internal/collector/store/classic", "internal/collector/slice", "internal/lib/metric"},
	"internal/lib/quota":            {},
	"internal/lib/access":           {"internal/lib/textfile", "internal/lib/quota", "internal/lib/yamlfile"},
	"internal/serve/query":          {"internal/collector/store/plan", "internal/lib/quota"},
	"internal/collector/store/plan": {},
	"internal/serve/query/remote":   {"internal/collector/store/plan"},
	"internal/serve/rulesengine":    {"internal/lib/httpclient", "internal/lib/yamlfile", "internal/serve/query", "internal/lib/disk"},
	"internal/storm/busy":           {},
	"internal/serve/diagnosis":      {"internal/storm/busy"},
	"internal/serve/webui":          {},
	"internal/serve/runbook":        {},
	"internal/lab/runindex":         {"internal/lab/runstore"},
	"internal/serve/httpapi": {"internal/lib/textfile", "internal/lib/access", "internal/lib/quota", "internal/serve/query", "internal/collector/registry",
		"internal/serve/federation", "internal/collector/journal", "internal/serve/diagnosis", "internal/collector/collection", "internal/lab/runindex"},
	"internal/collector/collection": {"internal/collector/catalog"},
	"internal/collector/capture":    {"internal/lib/textfile", "internal/lib/metric"},
	"internal/collector/replay": {"internal/lib/block", "internal/collector/capture", "internal/collector/ingest", "internal/collector/journal",
		"internal/lib/metric", "gen/bulletmetrics/v1"},
	// whose kinds of stores have settings of their own
	"internal/config":       {"internal/lib/address", "internal/lib/pathname", "internal/lib/textfile", "internal/lib/yamlfile", "internal/collector/store/forward"},
	"internal/lab/tuning":   {"internal/storm/busy"},
	"internal/lab/optimize": {"internal/lab/tuning"},
	"internal/lab/predict": {"internal/lab/tuning", "internal/lab/runstore", "internal/lab/csvtable", "internal/lib/yamlfile",
		"internal/lib/chart", "internal/lib/document"},
	"internal/lab/searchfile": {"internal/lib/pathname", "internal/lib/textfile", "internal/lab/optimize", "internal/lab/tuning", "internal/lib/yamlfile", "internal/lib/chart",
		"internal/lib/document"},
	"internal/lab/searchrunner": {"internal/lib/textfile", "internal/lab/optimize", "internal/lab/searchfile", "internal/lab/experimentfile", "internal/lab/runstore",
		"internal/storm/plugininfo", "internal/lib/disk", "internal/lab/tuning", "internal/lib/yamlfile"},
	"internal/lib/client":          {"internal/lib/address", "internal/lib/httpclient", "internal/lib/textfile"},
	"internal/lab/load":            {"internal/lib/address", "internal/lib/client", "internal/lib/httpclient", "internal/lib/textfile"},
	"internal/lab/load/hosts":      {"internal/lab/load"},
	"internal/lab/recordtrace":     {"internal/lab/load", "internal/lab/tuning"},
	"internal/lib/sender":          {"internal/lib/address", "internal/lib/textfile", "internal/lib/block", "gen/bulletmetrics/v1"},
	"internal/lab/bench":           {"internal/lib/block", "internal/lib/httpclient", "internal/lib/sender", "gen/bulletmetrics/v1"},
	"testing/bench/answer":         {"internal/lab/bench"},
	"testing/bench/floor":          {"internal/lab/bench", "internal/collector/framepool"},
	"internal/collector/framepool": {},
	"testing/bench/goal":           {},
	"testing/bench/peer":           {"internal/lab/bench"},
	"internal/lab/canary":          {"internal/lab/load", "internal/lib/sender", "gen/bulletmetrics/v1"},
	"internal/lab/stack":           {"internal/lib/address", "internal/lib/httpclient", "internal/lib/disk"},
	"internal/storm/plugininfo":    {},
	"internal/storm/stormconfig":   {"internal/lib/address", "internal/storm/plugininfo"},
	"internal/storm/doctor":        {"internal/storm/plugininfo", "internal/collector/catalog", "internal/lib/yamlfile"},
	"internal/storm/doctor/examine": {"internal/lib/textfile", "internal/lib/client", "internal/storm/doctor", "internal/collector/catalog", "internal/storm/nimbus",
		"internal/storm/plugininfo", "internal/lib/yamlfile"},
	"internal/lab/csvtable":       {"internal/lib/textfile", "internal/lab/tuning"},
	"internal/lab/runstore":       {"internal/lib/disk", "internal/lab/tuning", "internal/collector/collection"},
	"internal/lab/experimentfile": {"internal/lib/address", "internal/lib/pathname", "internal/lib/textfile", "internal/lab/tuning", "internal/lab/runstore", "internal/lib/yamlfile"},
	"internal/lib/chart":          {},
	"internal/lib/document":       {"internal/lib/chart"},
	"internal/lab/compare":        {"internal/lab/tuning"},
	"internal/lab/report": {"internal/lab/tuning", "internal/lab/runstore", "internal/collector/collection", "internal/lib/chart",
		"internal/lib/document", "internal/lab/compare"},
	"internal/lab/measure": {"internal/storm/busy", "internal/lib/textfile", "internal/lib/client", "internal/lab/tuning", "internal/lab/load", "internal/lab/recordtrace",
		"internal/lab/stack", "internal/lab/runstore", "internal/collector/collection", "internal/lib/yamlfile"},
	"internal/serve/annotations": {"internal/collector/registry"},
	"internal/serve/federation":  {"internal/collector/registry", "internal/collector/slice", "internal/lib/metric"},
	"internal/serve/dashboard":   {"internal/storm/busy"},
	"internal/serve/alertrules":  {"internal/collector/catalog"},
	"internal/lib/exit":          {},
	"internal/lab/runner": {"internal/lib/textfile", "internal/lib/exit", "internal/lab/measure", "internal/lab/load", "internal/lab/load/hosts", "internal/lab/stack",
		"internal/lab/report", "internal/lab/runstore", "internal/lab/tuning"},
	"testing/archtest": {},
	"tools/bom":        {},
	"tools/advisory":   {},
	// it stays outside of the program that it tries
	"testing/chaos": {"internal/lib/block", "internal/lib/sender", "gen/bulletmetrics/v1"},
}

// pure packages take time and input as values: no clock of their own, no I/O, no goroutine. What they may not import
// says so.
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

// packages lists ours, as the go command sees them.
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
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "e2e") {
			continue // the program joins everything
		}
		may, placed := allowed[name]
		if strings.HasSuffix(name, "test") && !placed {
			continue // suites that tests share
		}
		if !placed {
			may, placed = allowed[path.Dir(name)+"/*"]
		}
		if !assert.True(t, placed, "%s has no place in the table of imports", name) {
			continue
		}
		for _, imported := range p.Imports {
			if ours, found := strings.CutPrefix(imported, module); found {
				assert.Contains(t, may, ours, "%s must not import %s", name, ours)
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

// The engine and the wire have one room each.
func TestLibrariesHaveOneRoom(t *testing.T) {
	rooms := map[string][]string{
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
		if strings.HasPrefix(name, "cmd/") || strings.HasSuffix(name, "test") {
			continue
		}
		for library, may := range rooms {
			for _, path := range p.Imports {
				if path == library {
					assert.Contains(t, may, name, "%s imports %s", name, library)
				}
			}
		}
	}
}
