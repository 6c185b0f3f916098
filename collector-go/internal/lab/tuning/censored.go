package tuning

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// CensoredRow is a capacity that is only known to lie in [Low, High) at x. A climb in steps gives no exact capacity:
// Low is the last step that was OK, High the first that failed. High is +Inf if nothing failed (right-censored, a
// lower bound), and Low is -Inf if everything failed.
type CensoredRow struct {
	X, Low, High float64
}

func (r CensoredRow) interval() bool { return !math.IsInf(r.Low, 0) && !math.IsInf(r.High, 0) }

// CensoredFit is capacity = Intercept + Slope x + N(0, Deviation), by maximum likelihood over intervals. Each row adds
// the probability of its interval, so a lower bound counts as a lower bound. Least squares over the middles of the
// intervals would need an invented middle for rows without a failure, and would ignore the width of the steps.
//
// If a line passes through all intervals, the likelihood is largest for Deviation = 0 and the same for all such lines.
// Slope is then the middle of their slopes, and SlopesLow and SlopesHigh are the ends.
//
// Low and High are the slopes at which the profile log-likelihood is below the largest by half of n log(1 + t²/(n-2)).
// n is the number of rows with both ends, and t is Student's quantile for n-2. For narrow intervals this makes the
// confidence interval exact. The usual chi-squared limit would contain the truth too rarely for the few rows of such a
// table. For wide intervals it errs on the wide side.
type CensoredFit struct {
	Slope      Figure
	Intercept  Figure
	Low, High  Figure
	Deviation  Figure
	SlopesLow  Figure
	SlopesHigh Figure
	// Intervals is the number of rows with both ends, Bounds that of rows with one.
	Intervals, Bounds int
	Confidence        float64
	Note              string

	scale  scale
	rows   []CensoredRow // scaled
	best   float64       // the largest log-likelihood
	cutoff float64       // NaN if there is no interval
}

// scale maps x and capacities to numbers near 1, so that the search for the largest likelihood works with parameters
// of similar size.
type scale struct{ x0, dx, y0, dy float64 }

func (s scale) x(v float64) float64 { return (v - s.x0) / s.dx }
func (s scale) y(v float64) float64 { return (v - s.y0) / s.dy }

// FitCensored fits the line. Values that the rows do not determine are unknown, and Note states why.
func FitCensored(rows []CensoredRow, confidence float64) CensoredFit {
	f := unmeasured[CensoredFit]()
	f.Confidence, f.cutoff = confidence, math.NaN()
	xs := map[float64]bool{}
	for _, r := range rows {
		if r.interval() {
			f.Intervals++
			xs[r.X] = true
		} else {
			f.Bounds++
		}
	}
	switch {
	case f.Intervals == 0 && f.Bounds > 0:
		f.Note = "no slope: no row has both an OK step and a FAIL step"
		return f
	case len(xs) < 2:
		f.Note = fmt.Sprintf(
			"a slope needs at least two rows that have both an OK step and a FAIL step, but there are %d", len(xs))
		return f
	}
	f.rescale(rows)
	if low, high := feasibleSlopes(f.rows); low <= high {
		f.fitWithin(low, high)
	} else {
		f.fitAmong()
	}
	f.bound()
	return f
}

func (f *CensoredFit) rescale(rows []CensoredRow) {
	lowX, highX, lowY, highY := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, r := range rows {
		lowX, highX = min(lowX, r.X), max(highX, r.X)
		for _, y := range []float64{r.Low, r.High} {
			if !math.IsInf(y, 0) {
				lowY, highY = min(lowY, y), max(highY, y)
			}
		}
	}
	f.scale = scale{x0: (lowX + highX) / 2, dx: (highX - lowX) / 2, y0: (lowY + highY) / 2,
		dy: max((highY-lowY)/2, math.SmallestNonzeroFloat64)}
	for _, r := range rows {
		f.rows = append(f.rows, CensoredRow{f.scale.x(r.X), f.scale.y(r.Low), f.scale.y(r.High)})
	}
}

// feasibleSlopes returns the range of slopes of the lines that pass through all intervals. low is above high if there
// are none.
func feasibleSlopes(rows []CensoredRow) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	for _, a := range rows {
		for _, b := range rows { // the line must rise from at least a.Low to at most b.High
			switch dx := b.X - a.X; {
			case dx > 0:
				high = min(high, (b.High-a.Low)/dx)
			case dx < 0:
				low = max(low, (b.High-a.Low)/dx)
			case a.Low > b.High:
				return math.Inf(1), math.Inf(-1)
			}
		}
	}
	return low, high
}

// fitWithin takes the middle of the lines through all intervals.
func (f *CensoredFit) fitWithin(low, high float64) {
	slope := (low + high) / 2
	floor, ceiling := math.Inf(-1), math.Inf(1)
	for _, r := range f.rows {
		floor, ceiling = max(floor, r.Low-slope*r.X), min(ceiling, r.High-slope*r.X)
	}
	f.best = 0
	f.unscale(slope, (floor+ceiling)/2, 0)
	perUnit := f.scale.dy / f.scale.dx
	f.SlopesLow, f.SlopesHigh = Figure(low*perUnit), Figure(high*perUnit)
}

// fitAmong finds the likeliest line if no line passes through all intervals.
func (f *CensoredFit) fitAmong() {
	l := make(likelihood, len(f.rows))
	for i, r := range f.rows {
		l[i] = bracket{[]float64{1, r.X}, r.Low, r.High}
	}
	best, theta := l.climb([]float64{0, 0, 1})
	f.best = best
	f.unscale(theta[1]/theta[2], theta[0]/theta[2], 1/theta[2])
}

// unscale sets the line from scaled numbers.
func (f *CensoredFit) unscale(slope, intercept, deviation float64) {
	s := f.scale
	f.Slope = Figure(slope * s.dy / s.dx)
	f.Intercept = Figure(s.y0+intercept*s.dy) - f.Slope*Figure(s.x0)
	f.Deviation = Figure(deviation * s.dy)
}

// bound computes the confidence interval of the slope.
func (f *CensoredFit) bound() {
	if f.Intervals < 3 {
		f.Note = "no interval: two rows always lie on a line; measure a third"
		return
	}
	freedom := float64(f.Intervals - 2)
	t := quantile(f.Confidence, freedom)
	f.cutoff = float64(f.Intervals) * math.Log1p(t*t/freedom)
	center := float64(f.Slope) * f.scale.dx / f.scale.dy
	low, high := f.search(center, f.profileSlope)
	f.Low, f.High = low*Figure(f.scale.dy/f.scale.dx), high*Figure(f.scale.dy/f.scale.dx)
	if !f.Low.Known() || !f.High.Known() {
		f.Low, f.High = Unknown, Unknown
		f.Note = "the rows do not limit the slope"
	}
}

// profileSlope returns the largest log-likelihood of lines with the given slope, in scaled numbers.
func (f *CensoredFit) profileSlope(slope float64) float64 {
	l := make(likelihood, len(f.rows))
	z := []float64{1}
	for i, r := range f.rows {
		l[i] = bracket{z, r.Low - slope*r.X, r.High - slope*r.X}
	}
	return l.profile()
}

// profileCrossing returns the largest log-likelihood of lines that reach capacity y at x, both scaled.
func (f *CensoredFit) profileCrossing(x, y float64) float64 {
	l := make(likelihood, len(f.rows))
	for i, r := range f.rows {
		l[i] = bracket{[]float64{r.X - x}, r.Low - y, r.High - y}
	}
	return l.profile()
}

// profile returns the largest log-likelihood over one parameter and sigma. It is 0 if one parameter satisfies all
// brackets.
func (l likelihood) profile() float64 {
	low, high := math.Inf(-1), math.Inf(1)
	for _, b := range l {
		lowest, highest := math.Inf(-1), math.Inf(1)
		switch z := b.z[0]; {
		case z > 0:
			lowest, highest = b.low/z, b.high/z
		case z < 0:
			lowest, highest = b.high/z, b.low/z
		case b.low > 0 || b.high < 0:
			lowest, highest = math.Inf(1), math.Inf(-1)
		}
		low, high = max(low, lowest), min(high, highest)
	}
	if low <= high {
		return 0
	}
	best, _ := l.climb(l.start())
	return best
}

// search finds the values on both sides of center at which the profile is too far below the best. A side without such
// a value is unknown.
func (f *CensoredFit) search(center float64, profile func(float64) float64) (low, high Figure) {
	excess := func(v float64) float64 { // on the scale of a standard error, in which it is nearly straight
		return math.Sqrt(max(0, 2*(f.best-profile(v)))) - math.Sqrt(f.cutoff)
	}
	return f.end(center, -1, excess), f.end(center, 1, excess)
}

func (f *CensoredFit) end(center, sign float64, excess func(float64) float64) Figure {
	const doublings, firstStep = 40, 1.0 / 16
	inside, atInside := center, -math.Sqrt(f.cutoff)
	for step, i := firstStep, 0; i < doublings; i, step = i+1, 2*step {
		outside := center + sign*step
		if at := excess(outside); at >= 0 {
			return Figure(root(inside, atInside, outside, at, excess))
		} else {
			inside, atInside = outside, at
		}
	}
	return Unknown
}

// root finds the zero of f between a, where f is negative, and b, where it is not (regula falsi, Illinois variant).
func root(a, fa, b, fb float64, f func(float64) float64) float64 {
	const rounds, near = 60, 1e-9
	last := 0
	for range rounds {
		if math.Abs(b-a) <= near*(math.Abs(a)+math.Abs(b)) || fb == 0 {
			break
		}
		c := b - fb*(b-a)/(fb-fa)
		fc := f(c)
		if math.Abs(fc) < near {
			return c
		}
		if fc < 0 {
			a, fa = c, fc
			if last == -1 {
				fb /= 2
			}
			last = -1
		} else {
			b, fb = c, fc
			if last == 1 {
				fa /= 2
			}
			last = 1
		}
	}
	return b
}

// XFor returns the x at which the line reaches a capacity, with its profile-likelihood interval. It is unknown if the
// rows do not show a rising line.
func (f CensoredFit) XFor(capacity float64) Estimate {
	e := notDetermined(f.Note)
	if f.Slope <= 0 {
		return notDetermined("the capacity does not increase in these rows, so no size can be calculated")
	}
	if e.Value = (Figure(capacity) - f.Intercept) / f.Slope; math.IsNaN(f.cutoff) {
		return e
	}
	y := f.scale.y(capacity)
	low, high := f.search(f.scale.x(float64(e.Value)), func(x float64) float64 { return f.profileCrossing(x, y) })
	e.Low, e.High = low*Figure(f.scale.dx)+Figure(f.scale.x0), high*Figure(f.scale.dx)+Figure(f.scale.x0)
	switch known := fmt.Sprintf("%d rows with both bounds do not limit it", f.Intervals); {
	case !e.Low.Known() && !e.High.Known():
		e.Note = known
	case !e.High.Known():
		e.Note = known + " from above"
	case !e.Low.Known():
		e.Note = known + " from below"
	}
	return e
}

// bracket is one observation: it lies in [low, high), at covariates z. An end may be infinite.
type bracket struct {
	z         []float64
	low, high float64
}

// likelihood is the normal likelihood of brackets whose mean is the dot product of parameters and covariates. It is
// taken over theta = (parameters/sigma, 1/sigma), because its logarithm is concave there (Pratt 1981, Burridge 1981).
// Every local maximum is therefore the global one.
type likelihood []bracket

// at computes the negative logarithm with its gradient and Hessian; +Inf outside of the domain.
func (l likelihood) at(theta []float64, gradient []float64, hessian *mat.SymDense) float64 {
	k := len(theta) - 1
	gamma := theta[k]
	if !(gamma > 0) {
		return math.Inf(1)
	}
	for i := range gradient {
		gradient[i] = 0
		for j := i; j <= k; j++ {
			hessian.SetSym(i, j, 0)
		}
	}
	sum := 0.0
	var du, dv [maxParameters]float64
	for _, b := range l {
		mean := 0.0
		for i, z := range b.z {
			mean += theta[i] * z
			du[i], dv[i] = -z, -z
		}
		du[k], dv[k] = finite(b.high), finite(b.low)
		u, v := gamma*b.high-mean, gamma*b.low-mean
		logP := logBetween(v, u)
		if math.IsInf(logP, -1) || math.IsNaN(logP) {
			return math.Inf(1)
		}
		sum -= logP
		ru, rv := densityRatio(u, logP), densityRatio(v, logP)
		ruu, rvv := times(u, ru), times(v, rv)
		for i := 0; i <= k; i++ {
			gi := ru*du[i] - rv*dv[i]
			gradient[i] -= gi
			for j := i; j <= k; j++ {
				gj := ru*du[j] - rv*dv[j]
				hessian.SetSym(i, j, hessian.At(i, j)+ruu*du[i]*du[j]-rvv*dv[i]*dv[j]+gi*gj)
			}
		}
	}
	return sum
}

// maxParameters bounds the length of theta: intercept, slope and 1/sigma.
const maxParameters = 3

// finite replaces an infinite end by 0, because its density is 0 anyway.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return 0
	}
	return v
}

func times(x, ratio float64) float64 {
	if ratio == 0 {
		return 0
	}
	return x * ratio
}

// place is a point of the likelihood with its gradient and Hessian.
type place struct {
	theta, gradient []float64
	hessian         *mat.SymDense
	value           float64 // the negative log-likelihood
}

// climb maximises the likelihood with Newton's method. It returns the largest log-likelihood and its theta.
func (l likelihood) climb(start []float64) (float64, []float64) {
	here := place{gradient: make([]float64, len(start)), hessian: mat.NewSymDense(len(start), nil)}
	at := func(theta []float64) *place { // the optimizer asks for the three separately; compute them at once
		if !slices.Equal(here.theta, theta) {
			here.theta = append(here.theta[:0], theta...)
			here.value = l.at(theta, here.gradient, here.hessian)
		}
		return &here
	}
	top, err := optimize.Minimize(optimize.Problem{
		Func: func(theta []float64) float64 { return at(theta).value },
		Grad: func(gradient, theta []float64) { copy(gradient, at(theta).gradient) },
		Hess: func(hessian *mat.SymDense, theta []float64) { hessian.CopySym(at(theta).hessian) },
	}, start, &optimize.Settings{GradientThreshold: 1e-10, Converger: optimize.NeverTerminate{}, MajorIterations: 200},
		&optimize.Newton{Linesearcher: &optimize.Backtracking{}})
	if top == nil || err != nil && top.X == nil {
		return -at(start).value, start
	}
	return -top.F, top.X // if rounding ends the iteration, this is the closest point
}

// start returns the starting theta for one parameter: least squares over the middles of the brackets with both ends.
func (l likelihood) start() []float64 {
	products, squares, deviations, widths, n := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, b := range l {
		if middle := (b.low + b.high) / 2; Figure(middle).Known() {
			products, squares = products+middle*b.z[0], squares+b.z[0]*b.z[0]
			widths, n = widths+b.high-b.low, n+1
		}
	}
	parameter := 0.0
	if squares > 0 {
		parameter = products / squares
	}
	for _, b := range l {
		if middle := (b.low + b.high) / 2; Figure(middle).Known() {
			deviations += (middle - parameter*b.z[0]) * (middle - parameter*b.z[0])
		}
	}
	gamma := 1.0
	if sigma := math.Sqrt(deviations/n) + widths/n; sigma > 0 {
		gamma = 1 / sigma
	}
	return []float64{parameter * gamma, gamma}
}

// ignorable reports whether an error only means that the solution is badly conditioned. A damped step can still use
// it.
func ignorable(err error) bool {
	_, conditioned := err.(mat.Condition)
	return conditioned
}

// logBetween returns the logarithm of the probability that a standard normal variable lies between v and u. It is
// precise far out in either tail.
func logBetween(v, u float64) float64 {
	if v > 0 {
		v, u = -u, -v
	}
	if math.IsInf(u, 1) {
		return math.Log1p(-math.Exp(logBelow(v)))
	}
	if u > 0 && v < 0 { // neither end is far out in a tail
		return math.Log(0.5 * (math.Erf(u/math.Sqrt2) - math.Erf(v/math.Sqrt2)))
	}
	below := logBelow(u)
	return below + math.Log(-math.Expm1(logBelow(v)-below))
}

// logBelow returns the logarithm of the standard normal distribution function.
func logBelow(x float64) float64 {
	if x > -30 {
		return math.Log(0.5 * math.Erfc(-x/math.Sqrt2))
	}
	s := 1 / (x * x) // asymptotic series of the tail; at -30 its next term is below 1e-9
	return -x*x/2 - math.Log(-x*math.Sqrt(2*math.Pi)) + math.Log1p(-s*(1-3*s*(1-5*s)))
}

// densityRatio returns the standard normal density at x over a probability that is given by its logarithm.
func densityRatio(x, logP float64) float64 {
	if math.IsInf(x, 0) {
		return 0
	}
	return math.Exp(-x*x/2 - 0.5*math.Log(2*math.Pi) - logP)
}
