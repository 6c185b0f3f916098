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

	"gonum.org/v1/gonum/stat/distuv"

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

// Set parses the formula while a file is read, so that a syntax error has its line. Its names are checked later, when
// the settings are known.
func (f *Formula) Set(text string) error {
	parsed, err := ParseFormula(text)
	if err == nil {
		*f = *parsed
	}
	return err
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

// maxForeseen is the largest number of trials that Foresee returns.
const maxForeseen = 200

// Foresee returns the next proposals of the search. It assumes that every trial has the outcome that the model expects
// and that none must be repeated. A dry run shows them. The first one is the next trial. The result is empty if the
// search has ended.
func (s *Search) Foresee(trials []Trial) (way []Proposal, err error) {
	trials = slices.Clone(trials)
	for len(way) < maxForeseen {
		next, more, err := s.Next(trials)
		if err != nil || !more {
			return way, err
		}
		t := Unmeasured(next.Point)
		if t.Verdict = tuning.OK; next.Holds < 0.5 {
			t.Verdict = tuning.Fail
		}
		way, trials = append(way, next), append(trials, t)
	}
	return way, nil
}

// maxListed is the largest number of trials that an outlook lists, including the first one.
const maxListed = 10

// Outlook is what a dry run shows: the trials that are left, and about how long they take.
type Outlook struct {
	Configurations int `json:"configurations"`
	// KeptTrials have already finished.
	KeptTrials int `json:"kept_trials"`
	// First is the next configuration; null if none is left.
	First map[string]any `json:"first"`
	Why   string         `json:"why"`
	// Then are the configurations after it, at most maxListed-1, if each trial has the outcome that the model expects.
	Then []string `json:"then"`
	// AboutTrials is the number of trials if each has the outcome that the model expects and none is repeated.
	AboutTrials  int     `json:"about_trials"`
	TrialSeconds float64 `json:"trial_s"`
	AboutSeconds float64 `json:"about_s"`
	// MostTrials and MostSeconds are the budget, 0 for none.
	MostTrials  int     `json:"at_most_trials"`
	MostSeconds float64 `json:"at_most_s"`

	grid  bool
	first string
}

// Outlook returns the outlook of the search after these trials. trialSeconds is about how long a trial takes.
func (s *Search) Outlook(trials []Trial, trialSeconds float64) (Outlook, error) {
	way, err := s.Foresee(trials)
	if err != nil {
		return Outlook{}, err
	}
	points, why := tuning.Each(way, func(p Proposal) Point { return p.Point }), ""
	if len(way) > 0 {
		why = way[0].Why
	}
	o := s.outlook(len(trials), points, why, trialSeconds)
	o.MostTrials, o.MostSeconds = s.options.Budget.Trials, s.options.Budget.Seconds
	return o, nil
}

// GridOutlook returns the outlook of a grid, which has no budget. left are its configurations without a trial.
func (s *Search) GridOutlook(kept int, left []Point, trialSeconds float64) Outlook {
	o := s.outlook(kept, left, "the grid", trialSeconds)
	o.grid = true
	return o
}

func (s *Search) outlook(kept int, points []Point, why string, trialSeconds float64) Outlook {
	o := Outlook{Configurations: s.Configurations(), KeptTrials: kept, Why: why, Then: []string{},
		AboutTrials: len(points), TrialSeconds: trialSeconds, AboutSeconds: float64(len(points)) * trialSeconds}
	if len(points) > 0 {
		o.First, o.first = s.grid.space.Configured(points[0]), s.grid.space.Text(points[0])
		o.Then = tuning.Each(points[1:min(len(points), maxListed)], s.grid.space.Text)
	}
	return o
}

// Text returns the outlook as text. dir is the directory with the finished trials.
func (o Outlook) Text(experiment, dir string) string {
	var text strings.Builder
	line := func(is bool, format string, args ...any) {
		if is {
			fmt.Fprintf(&text, format+"\n", args...)
		}
	}
	line(true, "%s: %s", experiment, tuning.Counted(o.Configurations, "configuration"))
	line(o.KeptTrials > 0, "  stored in %s: %s", dir, tuning.Counted(o.KeptTrials, "trial"))
	line(o.First == nil, "  no trial is left")
	if o.First != nil {
		line(true, "  first: %s (%s)", o.first, o.Why)
		for _, then := range o.Then {
			line(true, "  then: %s", then)
		}
		line(true, "  about %s of %s each: %s", tuning.Counted(o.AboutTrials, "trial"), tuning.Took(o.TrialSeconds),
			tuning.Took(o.AboutSeconds))
		line(!o.grid, "  This assumes the outcomes that the model expects. Trials whose verdict noise may have changed are repeated.")
	}
	line(o.MostTrials > 0, "  at most %s", tuning.Counted(o.MostTrials, "trial"))
	line(o.MostSeconds > 0, "  at most %s", tuning.Took(o.MostSeconds))
	return text.String()
}

// surrogate predicts the margin of configurations that were not tried. It is a kernel regression: a prior that grows
// from the hardest to the easiest place, corrected by the deviations of nearby observations. It only ranks the next
// trials, and no proof depends on it. A Gaussian process instead saved 3% of the trials, which was not worth its linear
// algebra (docs/decisions/0020-trials-are-ranked-without-a-gaussian-process.md).
type surrogate struct{ all []observation }

// Parameters of the model. Coordinates are between 0 and 1, and margins are logarithms of ratios.
const (
	expectation = 1.5  // expected growth of the margin from the hardest to the easiest place, before any trial
	reach       = 0.3  // distance over which an observation affects other places
	priorWeight = 0.3  // weight of the prior; an exact observation at the place itself has the weight 1
	noiseWeight = 4.0  // how strongly the variance of an observation reduces its weight
	deviation   = 0.5  // standard deviation of the margin about the prediction
	guessNoise  = 0.25 // variance of an expectation that follows from a limiter and not from a trial
	leastNoise  = 1e-3
)

// observation is the margin at a place, with its variance.
type observation struct {
	at           []float64
	margin, vary float64
}

// observations returns the margins of the tried configurations. A limiter adds an expectation: a configuration that
// failed by a limiter is expected to fail still if every setting that does not relieve the limiter gets its easiest
// value.
func observations(g *grid, all []*evidence) (out []observation) {
	for _, e := range all {
		if e.trials == 0 {
			continue
		}
		out = append(out, observation{g.places[e.at], e.margin, e.deviation*e.deviation + leastNoise})
		if limiter := e.decided[len(e.decided)-1].Limiter; e.verdict() == tuning.Fail && limiter != "" {
			beyond := g.easiest(g.points[e.at], func(i int) bool {
				return slices.Contains(g.space.Settings[i].Relieves, limiter)
			})
			if n := g.number(beyond); n != e.at {
				out = append(out, observation{g.places[n], e.margin, guessNoise})
			}
		}
	}
	return out
}

// prior returns the expected margin at a place before any trial.
func prior(at []float64) float64 {
	sum := 0.0
	for _, v := range at {
		sum += v
	}
	return expectation * (sum/float64(len(at)) - 0.5)
}

// holds returns the probability that the margin at a place is at least 0.
func (s surrogate) holds(at []float64) float64 {
	sum, weight := 0.0, priorWeight
	for _, o := range s.all {
		square := 0.0
		for i := range at {
			square += (at[i] - o.at[i]) * (at[i] - o.at[i])
		}
		w := math.Exp(-square/(2*reach*reach)) / (1 + noiseWeight*o.vary)
		sum, weight = sum+w*(o.margin-prior(o.at)), weight+w
	}
	return distuv.UnitNormal.CDF((prior(at) + sum/weight) / deviation)
}
