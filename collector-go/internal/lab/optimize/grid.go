package optimize

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// grid numbers all configurations of a space and holds what does not change from trial to trial. It is immutable after
// newGrid.
type grid struct {
	space  Space
	points []Point
	stride []int
	costs  []float64
	// allowed says whether a configuration meets the constraints.
	allowed []bool
	// byCost are the allowed configurations, the cheapest first.
	byCost []int
	// places are the coordinates of the points for the surrogate, each from 0 (hardest) to 1 (easiest).
	places [][]float64
}

// sameCost is the largest relative difference between two costs that count as equal. Sums in another order differ by
// rounding.
const sameCost = 1e-9

// newGrid computes the cost of every configuration and checks its constraints. It fails if a formula has no value for a
// configuration.
func newGrid(space Space) (*grid, error) {
	g := &grid{space: space, stride: make([]int, len(space.Settings))}
	n := 1
	for i := len(space.Settings) - 1; i >= 0; i-- {
		g.stride[i] = n
		n *= len(space.Settings[i].Values)
	}
	for number := range n {
		p := make(Point, len(space.Settings))
		for i := range p {
			p[i] = number / g.stride[i] % len(space.Settings[i].Values)
		}
		cost, err := space.CostOf(p)
		if err != nil {
			return nil, fmt.Errorf("cost of %s: %w", space.Text(p), err)
		}
		allowed := true
		for _, c := range space.Constraints {
			holds, err := c.Value(space.Variables(p))
			if err != nil {
				return nil, fmt.Errorf("constraint %q for %s: %w", c, space.Text(p), err)
			}
			allowed = allowed && holds != 0
		}
		g.points, g.costs, g.allowed = append(g.points, p), append(g.costs, cost), append(g.allowed, allowed)
		g.places = append(g.places, g.place(p))
		if allowed {
			g.byCost = append(g.byCost, number)
		}
	}
	slices.SortStableFunc(g.byCost, func(a, b int) int { return cmp.Compare(g.costs[a], g.costs[b]) })
	return g, nil
}

// number returns the number of a point, its index in points.
func (g *grid) number(p Point) int {
	n := 0
	for i, level := range p {
		n += level * g.stride[i]
	}
	return n
}

// has reports whether a point is in the space.
func (g *grid) has(p Point) bool {
	if len(p) != len(g.stride) {
		return false
	}
	for i, level := range p {
		if level < 0 || level >= len(g.space.Settings[i].Values) {
			return false
		}
	}
	return true
}

// place returns the coordinates of a point for the surrogate. An ordered setting gives one coordinate on a logarithmic
// scale, because the resources that a load needs grow by ratios. An unordered setting gives a coordinate for each of
// its values.
func (g *grid) place(p Point) (at []float64) {
	for i, s := range g.space.Settings {
		if s.Easier == Neither {
			for level := range s.Values {
				at = append(at, map[bool]float64{true: 0.5}[level == p[i]])
			}
			continue
		}
		first, last := s.Values[0].Number, s.Values[len(s.Values)-1].Number
		share := 0.5
		switch v := s.Values[p[i]].Number; {
		case first > 0 && last > first:
			share = math.Log(v/first) / math.Log(last/first)
		case last > first:
			share = (v - first) / (last - first)
		}
		if s.Easier == Less {
			share = 1 - share
		}
		at = append(at, share)
	}
	return at
}

// below reports whether a is never easier than b. If b fails, then a fails too.
func (g *grid) below(a, b int) bool {
	for i, s := range g.space.Settings {
		x, y := g.points[a][i], g.points[b][i]
		switch {
		case s.Easier == Neither && x != y, s.Easier == More && x > y, s.Easier == Less && x < y:
			return false
		}
	}
	return true
}

// toEasier propagates values along each ordered setting from harder points to easier ones. Each point gets the join of
// its own value and the value of its harder neighbour.
func (g *grid) toEasier(values []float64, join func(own, harder float64) float64) {
	g.sweep(values, join, Less, More)
}

// sweep propagates values towards smaller levels for settings of the direction down, and towards larger levels for
// those of the direction up.
func (g *grid) sweep(values []float64, join func(own, from float64) float64, down, up Easier) {
	for i, s := range g.space.Settings {
		last := len(s.Values) - 1
		switch s.Easier {
		case down:
			for n := len(values) - 1; n >= 0; n-- {
				if g.points[n][i] < last {
					values[n] = join(values[n], values[n+g.stride[i]])
				}
			}
		case up:
			for n := range values {
				if g.points[n][i] > 0 {
					values[n] = join(values[n], values[n-g.stride[i]])
				}
			}
		}
	}
}

// cheaper reports whether cost a is less than cost b, by more than a rounding error.
func cheaper(a, b float64) bool {
	return a < b-sameCost*math.Max(math.Abs(a), math.Abs(b))
}

// easiest returns p with the easiest value of every ordered setting, except for the settings that keep selects.
func (g *grid) easiest(p Point, keep func(setting int) bool) Point {
	out := slices.Clone(p)
	for i, s := range g.space.Settings {
		switch {
		case keep(i):
		case s.Easier == More:
			out[i] = len(s.Values) - 1
		case s.Easier == Less:
			out[i] = 0
		}
	}
	return out
}
