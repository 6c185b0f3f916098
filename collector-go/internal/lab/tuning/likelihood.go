package tuning

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

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
