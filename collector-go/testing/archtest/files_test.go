package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stairs are the files of packages that read from the bottom up: a file uses only what it and the files before it
// declare, so that no two files need each other. A file that is missing here fails the test, so that a new one is given
// its place.
var stairs = map[string][]string{
	"internal/lib/chart": {"numbers.go", "figure.go", "plot.go", "timeline.go"},
	"internal/lib/document": {
		"table.go", "document.go", "text.go", "markdown.go", "html.go",
	},
	"internal/lab/compare": {"operand.go", "change.go", "wording.go", "comparison.go"},
	"internal/lab/report": {
		"figures.go", "trial.go", "steps.go", "build.go", "timeline.go", "sharing.go",
		"run_report.go", "analysis.go", "analysis_queries.go", "analysis_concurrency.go",
		"trial_document.go", "ingest.go",
		"measured.go", "read_trials.go", "tables.go", "results.go",
		"operand.go", "comparison.go",
		"wording.go", "data_quality.go", "run_timeline.go", "manifest.go", "open.go", "capacity_chart.go",
		"run_document.go",
	},
}

// mostLines bounds a file of theirs.
const mostLines = 400

// source is a package with its files' syntax, and what each name in them stands for.
type source struct {
	files   *token.FileSet
	syntax  map[string]*ast.File // by the file's name
	meaning types.Info
}

// sources reads packages as the compiler does, with what they import as it was compiled.
func sources(t *testing.T, names ...string) map[string]source {
	t.Helper()
	arguments := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles"}
	for _, name := range names {
		arguments = append(arguments, module+name)
	}
	out, err := exec.Command("go", arguments...).Output()
	require.NoError(t, err)
	type built struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	all := map[string]built{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p built
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		all[p.ImportPath] = p
	}
	files := token.NewFileSet()
	compiled := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(all[path].Export)
	})
	read := map[string]source{}
	for _, name := range names {
		s := source{files, map[string]*ast.File{}, types.Info{Uses: map[*ast.Ident]types.Object{}}}
		var syntax []*ast.File
		for _, file := range all[module+name].GoFiles {
			path := filepath.Join(all[module+name].Dir, file)
			parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			s.syntax[file], syntax = parsed, append(syntax, parsed)
		}
		config := types.Config{Importer: compiled}
		_, err := config.Check(module+name, files, syntax, &s.meaning)
		require.NoError(t, err)
		read[name] = s
	}
	return read
}

// uses are the names that a file uses of each other file of its package.
func (s source) uses(file string) map[string][]string {
	out := map[string][]string{}
	ast.Inspect(s.syntax[file], func(n ast.Node) bool {
		name, isName := n.(*ast.Ident)
		if !isName {
			return true
		}
		object := s.meaning.Uses[name]
		if object == nil || !object.Pos().IsValid() {
			return true
		}
		for other, syntax := range s.syntax {
			declares := syntax.FileStart <= object.Pos() && object.Pos() < syntax.FileEnd
			if declares && other != file && !slices.Contains(out[other], name.Name) {
				out[other] = append(out[other], name.Name)
			}
		}
		return true
	})
	return out
}

func TestFilesUseOnlyThoseBelowThem(t *testing.T) {
	var names []string
	for name := range stairs {
		names = append(names, name)
	}
	for name, s := range sources(t, names...) {
		order, arrows := stairs[name], 0
		for file, syntax := range s.syntax {
			at := slices.Index(order, file)
			assert.GreaterOrEqual(t, at, 0, "%s/%s has no place in the order of its package's files", name, file)
			assert.LessOrEqual(t, s.files.File(syntax.Pos()).LineCount(), mostLines, "%s/%s is too long", name, file)
			for other, used := range s.uses(file) {
				arrows++
				assert.Less(t, slices.Index(order, other), at,
					"%s/%s uses %v of %s, which stands above it", name, file, used, other)
			}
		}
		assert.Len(t, order, len(s.syntax), "%s: the order names a file that is not there, or one twice", name)
		assert.Greater(t, arrows, len(s.syntax)/2, "%s: too few arrows were found to judge", name)
	}
}
