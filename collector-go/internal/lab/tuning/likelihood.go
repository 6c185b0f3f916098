package tuning

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// bracket is what is known of one observation: it lies in [low, high), at covariates z. An end may be infinite.
type bracket struct {
	z         []float64
	low, high float64
}

// likelihood is the normal likelihood of brackets whose mean is the dot product of parameters and covariates. It is
// taken over theta = (parameters/sigma, 1/sigma), in which its logarithm is concave (Pratt 1981, Burridge 1981):
// wherever a climb ends is the top.
type likelihood []bracket

// at gives the negative logarithm with its gradient and Hessian; +Inf outside the domain.
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

// maxParameters bounds theta: intercept, slope and 1/sigma.
const maxParameters = 3

// finite stands in for an infinite end, whose density is 0 anyway.
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

// place is a point of the likelihood with its slope and bend.
type place struct {
	theta, gradient []float64
	hessian         *mat.SymDense
	value           float64 // the negative logarithm
}

// climb is Newton's way to the top. It gives the largest log-likelihood and where it is.
func (l likelihood) climb(start []float64) (float64, []float64) {
	here := place{gradient: make([]float64, len(start)), hessian: mat.NewSymDense(len(start), nil)}
	at := func(theta []float64) *place { // value, slope and bend are asked for one after the other, and made at once
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
	return -top.F, top.X // where rounding ends the way, it is as near as it comes
}

// start is where to climb from with one parameter: least squares of the middles of the brackets that have both ends.
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

// ignorable reports whether a solution is there, though badly conditioned: a damped step can use it.
func ignorable(err error) bool {
	_, conditioned := err.(mat.Condition)
	return conditioned
}

// logBetween is the logarithm of a standard normal's probability to lie between v and u, precise far out in either
// tail.
func logBetween(v, u float64) float64 {
	if v > 0 {
		v, u = -u, -v
	}
	if math.IsInf(u, 1) {
		return math.Log1p(-math.Exp(logBelow(v)))
	}
	if u > 0 && v < 0 { // neither end is in a far tail on its own side
		return math.Log(0.5 * (math.Erf(u/math.Sqrt2) - math.Erf(v/math.Sqrt2)))
	}
	below := logBelow(u)
	return below + math.Log(-math.Expm1(logBelow(v)-below))
}

// logBelow is the logarithm of the standard normal's distribution function.
func logBelow(x float64) float64 {
	if x > -30 {
		return math.Log(0.5 * math.Erfc(-x/math.Sqrt2))
	}
	s := 1 / (x * x) // the tail's asymptotic series: at -30 its next term is below 1e-9
	return -x*x/2 - math.Log(-x*math.Sqrt(2*math.Pi)) + math.Log1p(-s*(1-3*s*(1-5*s)))
}

// densityRatio is the standard normal's density at x over a probability given by its logarithm.
func densityRatio(x, logP float64) float64 {
	if math.IsInf(x, 0) {
		return 0
	}
	return math.Exp(-x*x/2 - 0.5*math.Log(2*math.Pi) - logP)
}
