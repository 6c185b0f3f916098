package optimize

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// Formula is an arithmetic expression over named numbers, in Go syntax: + - * /, comparisons, && and ||, parentheses,
// and the functions listed by Functions. A comparison is 1 if it is true and 0 otherwise. Formulas come from users'
// files. Go's own parser reads them, and ParseFormula refuses every other construct.
type Formula struct {
	text  string
	tree  ast.Expr
	names []string
}

// maxFormula is the largest length of a formula in bytes. It also limits the depth of the syntax tree, and with it the
// depth of the recursion.
const maxFormula = 2000

var functions = map[string]func(args []float64) (float64, error){
	"min":  func(a []float64) (float64, error) { return slices.Min(a), nil },
	"max":  func(a []float64) (float64, error) { return slices.Max(a), nil },
	"exp":  one(math.Exp),
	"log":  one(math.Log),
	"sqrt": one(math.Sqrt),
	"abs":  one(math.Abs),
	"ceil": one(math.Ceil),
	"pow": func(a []float64) (float64, error) {
		if len(a) != 2 {
			return 0, errors.New("pow needs 2 arguments")
		}
		return math.Pow(a[0], a[1]), nil
	},
}

func one(f func(float64) float64) func([]float64) (float64, error) {
	return func(a []float64) (float64, error) {
		if len(a) != 1 {
			return 0, errors.New("the function needs 1 argument")
		}
		return f(a[0]), nil
	}
}

// Functions returns the names of the functions that formulas may call, sorted.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }

// ParseFormula reads a formula. Its error says which part is not understood. It evaluates the formula once, so that an
// unsupported construct is found here and not in the middle of a search.
func ParseFormula(text string) (*Formula, error) {
	if len(text) > maxFormula {
		return nil, fmt.Errorf("the formula has %d characters; at most %d are allowed", len(text), maxFormula)
	}
	tree, err := parser.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a formula: %w", text, err)
	}
	f := &Formula{text: text, tree: tree}
	if _, err = value(tree, func(name string) (float64, bool) {
		f.names = tuning.Union(f.names, name)
		return 1, true
	}); err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return f, nil
}

// String returns the text of the formula.
func (f *Formula) String() string { return f.text }

// Names returns the variables of the formula, each once, in the order of their first use.
func (f *Formula) Names() []string { return f.names }

// Value evaluates the formula. It returns an error if a variable is missing or the value is not a number. The value may
// be infinite.
func (f *Formula) Value(variables map[string]float64) (float64, error) {
	v, err := value(f.tree, func(name string) (float64, bool) {
		v, known := variables[name]
		return v, known
	})
	if err == nil && math.IsNaN(v) {
		err = errors.New("the value is not a number")
	}
	if err != nil {
		return 0, fmt.Errorf("%q: %w", f.text, err)
	}
	return v, nil
}

// value evaluates a tree. All parts are evaluated, also those that cannot change the result, so that an error depends
// only on the constructs and names of the formula.
func value(e ast.Expr, variable func(name string) (float64, bool)) (float64, error) {
	switch n := e.(type) {
	case *ast.BasicLit:
		return yamlfile.Number(n.Value)
	case *ast.Ident:
		v, known := variable(n.Name)
		if !known {
			return 0, fmt.Errorf("unknown name %q", n.Name)
		}
		return v, nil
	case *ast.ParenExpr:
		return value(n.X, variable)
	case *ast.UnaryExpr:
		if n.Op == token.SUB {
			v, err := value(n.X, variable)
			return -v, err
		}
	case *ast.BinaryExpr:
		x, err := value(n.X, variable)
		y, other := value(n.Y, variable)
		if err := errors.Join(err, other); err != nil {
			return 0, err
		}
		apply := operators[n.Op]
		if apply == nil {
			return 0, fmt.Errorf("unknown operator %s", n.Op)
		}
		return apply(x, y), nil
	case *ast.CallExpr:
		name, named := n.Fun.(*ast.Ident)
		if !named || functions[name.Name] == nil {
			return 0, fmt.Errorf("calls an unknown function; use one of %s", strings.Join(Functions(), ", "))
		}
		if len(n.Args) == 0 {
			return 0, fmt.Errorf("%s needs an argument", name.Name)
		}
		var args []float64
		for _, arg := range n.Args {
			v, err := value(arg, variable)
			if err != nil {
				return 0, err
			}
			args = append(args, v)
		}
		return functions[name.Name](args)
	}
	return 0, errors.New("only numbers, names, operators and function calls are allowed")
}

// operators are the binary operators. Comparisons and logical operators return 1 for true and 0 for false.
var operators = map[token.Token]func(x, y float64) float64{
	token.ADD:  func(x, y float64) float64 { return x + y },
	token.SUB:  func(x, y float64) float64 { return x - y },
	token.MUL:  func(x, y float64) float64 { return x * y },
	token.QUO:  func(x, y float64) float64 { return x / y },
	token.LSS:  func(x, y float64) float64 { return truth(x < y) },
	token.LEQ:  func(x, y float64) float64 { return truth(x <= y) },
	token.GTR:  func(x, y float64) float64 { return truth(x > y) },
	token.GEQ:  func(x, y float64) float64 { return truth(x >= y) },
	token.EQL:  func(x, y float64) float64 { return truth(x == y) },
	token.NEQ:  func(x, y float64) float64 { return truth(x != y) },
	token.LAND: func(x, y float64) float64 { return truth(x != 0 && y != 0) },
	token.LOR:  func(x, y float64) float64 { return truth(x != 0 || y != 0) },
}

func truth(holds bool) float64 { return map[bool]float64{true: 1}[holds] }
