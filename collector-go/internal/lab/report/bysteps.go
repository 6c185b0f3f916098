package report

import (
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// grid is a table on its way that has a column for each of some steps, and a row for each of what was found in any of
// them.
type grid struct {
	heads []string // of the rows' names
	steps []string
	cells map[string][]string
	names []string // of the rows, as they came; the parts of one are joined by rowSeparator
}

const rowSeparator = "\x00"

func newGrid(steps []string, heads ...string) *grid {
	return &grid{heads: heads, steps: steps, cells: map[string][]string{}}
}

// bySteps is a grid of the report's steps.
func (r *Report) bySteps(heads ...string) *grid {
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, s.name())
	}
	return newGrid(steps, heads...)
}

// set sets a row's cell of a step. The row's name has a part for each of the heads.
func (g *grid) set(step int, cell string, name ...string) {
	row := strings.Join(name, rowSeparator)
	if g.cells[row] == nil {
		g.names = append(g.names, row)
		g.cells[row] = make([]string, len(g.steps))
		for i := range g.cells[row] {
			g.cells[row][i] = document.Unknown
		}
	}
	g.cells[row][step] = cell
}

func (g *grid) table() document.Table {
	var columns []document.Column
	for _, head := range g.heads {
		columns = append(columns, document.Words(head))
	}
	for _, step := range g.steps {
		columns = append(columns, document.Numbers(step, ""))
	}
	t := document.NewTable(columns...)
	for _, name := range g.names {
		t.Add(append(strings.Split(name, rowSeparator), g.cells[name]...)...)
	}
	return t
}

// first puts a row above the others.
func (g *grid) first(name string) {
	if i := slices.Index(g.names, name); i > 0 {
		g.names = slices.Insert(slices.Delete(g.names, i, i+1), 0, name)
	}
}
