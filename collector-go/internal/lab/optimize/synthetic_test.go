package optimize

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// world is a synthetic space whose best configuration is known.
type world struct {
	*Simulation
	grid *grid
	// holds says for each point whether it holds. least is the cost of the cheapest one that holds, or infinity if
	// there is none.
	holds []bool
	least float64
	noise string
}

var resources = []struct {
	as      string
	limiter tuning.Limiter
	values  []float64
}{
	{"filter", tuning.LimitedByFilterCPU, []float64{1, 2, 3, 4, 6, 8, 12, 16, 24}},
	{"heap", tuning.LimitedByGC, []float64{128, 192, 256, 384, 512, 768, 1024, 1536}},
	{"pending", tuning.LimitedByPending, []float64{5, 10, 20, 40, 80, 160}},
	{"spouts", tuning.LimitedBySpouts, []float64{1, 2, 4, 6, 8, 12}},
}

// newWorld creates a random space of 2 to 4 resources, and sometimes a garbage collector, which has no order. Latency
// grows with a power of the ratio of need to supply of each resource. Filters need more if there is less heap. A load
// beyond all capacity loses records.
func newWorld(t *testing.T, seed uint64) *world {
	random := rand.New(rand.NewPCG(seed, 18))
	sim := &Simulation{Seed: seed, TrialSeconds: 360, Target: Target{tuning.Unknown, tuning.Unknown, tuning.Unknown,
		200, 0.99, tuning.Unknown}}
	terms, most := []string{"20"}, []string{"0"}
	for _, i := range random.Perm(len(resources))[:2+random.IntN(3)] {
		r := resources[i]
		n := 3 + random.IntN(len(r.values)-3)
		from := random.IntN(len(r.values) - n + 1)
		values := r.values[from : from+n]
		s := Setting{Name: "x." + r.as, As: r.as, Easier: More, Relieves: []tuning.Limiter{r.limiter}}
		unit := math.Exp(random.NormFloat64()) / values[n-1]
		for _, v := range values {
			s.Values, s.Costs = append(s.Values, Value{fmt.Sprint(v), v}), append(s.Costs, unit*v)
		}
		sim.Space.Settings = append(sim.Space.Settings, s)
		need := values[0] * math.Pow(values[n-1]/values[0], random.Float64()*1.02-0.1)
		used := fmt.Sprintf("%.9g / %s", need, r.as)
		if r.as == "filter" && random.IntN(2) == 0 {
			used += " * (1 + gc * 100 / heap)"
		}
		sim.Shares = append(sim.Shares, Share{r.limiter, parsed(t, used)})
		terms, most = append(terms, fmt.Sprintf("%.9g * pow(%s, %d)", 180*(0.3+0.7*random.Float64()), used,
			3+random.IntN(8))), append(most, used)
	}
	gc := "1"
	if random.IntN(4) == 0 {
		sim.Space.Settings = append(sim.Space.Settings, Setting{Name: "x.gc", As: "gc", Easier: Neither,
			Values: []Value{{"G1", 0}, {"Parallel", 1}, {"ZGC", 2}}, Costs: []float64{0, 0.02, 0.05}})
		gc = "(1 - gc / 4)"
	}
	named := func(text string) *Formula {
		text = strings.ReplaceAll(text, "gc *", gc+" *")
		if !slices.ContainsFunc(sim.Space.Settings, func(s Setting) bool { return s.As == "heap" }) {
			text = strings.ReplaceAll(text, "heap", "512")
		}
		return parsed(t, text)
	}
	for i, share := range sim.Shares {
		sim.Shares[i].Used = named(share.Used.String())
	}
	sim.Latency = named(strings.Join(terms, " + "))
	sim.Completeness = named("1 - 0.3 * max(0, max(" + strings.Join(most, ", ") + ") - 1)")
	noise := []float64{0.02, 0.05, 0.1, 0.2}[random.IntN(4)]
	sim.Noise = noise
	w := &world{Simulation: sim, least: math.Inf(1), noise: []string{"stated", "stated", "unstated"}[random.IntN(3)]}
	sim.NoiseUnstated = w.noise == "unstated"
	var err error
	w.grid, err = newGrid(sim.Space)
	require.NoError(t, err)
	sim.Noise = 0
	for at, p := range w.grid.points {
		trial, err := sim.Run(p, 1)
		require.NoError(t, err)
		w.holds = append(w.holds, trial.Verdict == tuning.OK)
		if w.holds[at] {
			w.least = min(w.least, w.grid.costs[at])
		}
	}
	sim.Noise = noise
	return w
}

func parsed(t *testing.T, text string) *Formula {
	f, err := ParseFormula(text)
	require.NoError(t, err)
	return f
}

// right reports whether a result is correct. nil means that no configuration holds.
func (w *world) right(best Point) bool {
	if best == nil {
		return math.IsInf(w.least, 1)
	}
	at := w.grid.number(best)
	return w.holds[at] && !cheaper(w.least, w.grid.costs[at])
}

// reached returns the number of the first trial of an optimal configuration, or 0 if there was none. If no
// configuration holds, it returns the number of all trials.
func (w *world) reached(trials []Trial) int {
	for i, t := range trials {
		if w.right(t.Point) {
			return i + 1
		}
	}
	if math.IsInf(w.least, 1) {
		return len(trials)
	}
	return 0
}

// tally collects the results of one kind of search over many spaces.
type tally struct {
	name                         string
	spaces, ended, wrong, missed int
	trials, reached              float64
}

func (c *tally) add(w *world, trials []Trial, ended bool, best Point) {
	c.spaces++
	c.trials += float64(len(trials))
	if n := w.reached(trials); n > 0 {
		c.reached += float64(n)
	} else {
		c.missed++
	}
	if ended {
		c.ended++
		if !w.right(best) {
			c.wrong++
		}
	}
}

func (c *tally) String() string {
	n := float64(c.spaces)
	return fmt.Sprintf("%-26s %4d spaces, %5.1f%% with an answer, %4.1f%% of these wrong; %5.1f trials; %5.1f to the optimum, which %4.1f%% never tried",
		c.name, c.spaces, 100*float64(c.ended)/n, 100*float64(c.wrong)/float64(max(c.ended, 1)), c.trials/n,
		c.reached/(n-float64(c.missed)), 100*float64(c.missed)/n)
}

// A proven result is wrong in at most 5 of 100 cases, and takes fewer trials than other searches. BULLET_METRICS_LONG=1
// uses 1,000 spaces.
func TestProvenOptimaAreTrueInNoisySpaces(t *testing.T) {
	spaces := uint64(60)
	if os.Getenv("BULLET_METRICS_LONG") != "" {
		spaces = 1000
	}
	ours, by, size := &tally{name: "this search"}, map[string]*tally{}, 0.0
	others := []*tally{}
	for _, other := range baselines {
		others = append(others, &tally{name: other.name})
	}
	for seed := range spaces {
		w := newWorld(t, seed)
		size += float64(len(w.grid.points)) / float64(spaces)
		search, err := New(w.Space, w.Target, DefaultOptions())
		require.NoError(t, err)
		trials, err := Simulate(search, w.Simulation)
		require.NoError(t, err)
		result, err := search.Result(trials)
		require.NoError(t, err)
		var best Point
		if result.Best != nil {
			best = result.Best.Point
		}
		kind := fmt.Sprintf("  noise %g, %s", w.Noise, w.noise)
		if by[kind] == nil {
			by[kind] = &tally{name: kind}
		}
		ours.add(w, trials, result.Proven, best)
		by[kind].add(w, trials, result.Proven, best)
		for i, other := range baselines {
			trials, best := other.search(w, rand.New(rand.NewPCG(seed, 7)))
			others[i].add(w, trials, true, best)
		}
	}
	t.Logf("%d spaces of %.0f configurations", spaces, size)
	t.Log(ours)
	for _, kind := range slices.Sorted(maps.Keys(by)) {
		t.Log(by[kind])
	}
	for _, other := range others {
		t.Log(other)
		if other.name == "one at a time" { // it does not prove anything about the points that it skips
			assert.Greater(t, other.wrong, ours.wrong, "wrong more often")
		} else {
			assert.Less(t, ours.trials, other.trials, "fewer trials than %s", other.name)
		}
	}
	assert.LessOrEqual(t, float64(ours.wrong), 0.05*float64(ours.ended), "proven and wrong")
	assert.GreaterOrEqual(t, float64(ours.ended), 0.8*float64(ours.spaces), "proven at all")
}
