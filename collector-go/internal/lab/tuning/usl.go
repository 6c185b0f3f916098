package tuning

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// USL is Gunther's Universal Scalability Law ("Guerrilla Capacity Planning", 2007):
//
//	throughput(N) = Rate N / (1 + Contention (N-1) + Coherency N (N-1))
//
// A straight line through throughputs cannot show that more units eventually give less; this law can. It is fitted by
// least squares of the throughput itself. The usual linear form weights small sizes differently, so here it only
// supplies the start of the iteration. Intervals are the linearised ones of nonlinear least squares. They are cut off
// at 0, because a negative contention or coherency has no meaning.
type USL struct {
	// Rate is the throughput of a single unit. Contention is the share of work that waits for shared resources.
	// Coherency is the cost of keeping each pair of units consistent.
	Rate       Estimate `json:"rate"`
	Contention Estimate `json:"contention"`
	Coherency  Estimate `json:"coherency"`
	R2         Figure   `json:"r2"`
	// PeakAt is the number of units with the largest throughput; null if the rows show no peak.
	PeakAt     Figure  `json:"peak_at"`
	Peak       Figure  `json:"peak_throughput"`
	Points     int     `json:"points"`
	Confidence float64 `json:"confidence"`
	Note       string  `json:"note,omitempty"`
}

// At returns the law's throughput of n units; unknown if the law is.
func (u USL) At(n float64) Figure {
	if !u.Rate.Value.Known() {
		return Unknown
	}
	return Figure(uslAt([]float64{float64(u.Rate.Value), float64(u.Contention.Value), float64(u.Coherency.Value)}, n))
}

func uslAt(p []float64, n float64) float64 { return p[0] * n / (1 + p[1]*(n-1) + p[2]*n*(n-1)) }

// uslParameters is the number of parameters. That many different sizes determine the law; one more shows how well it
// fits.
const uslParameters = 3

// FitUSL fits the law to throughputs y of n units.
func FitUSL(n, y []float64, confidence float64) USL {
	u := unmeasured[USL]()
	u.Points, u.Confidence = len(n), confidence
	sizes := map[float64]bool{}
	for _, v := range n {
		sizes[v] = true
	}
	if len(sizes) < uslParameters {
		u.Note = fmt.Sprintf("the law has three parameters and needs at least three sizes, but there are %d",
			len(sizes))
		return u
	}
	free := newUSLFit(n, y, []int{0, 1, 2})
	if !free.solve() {
		u.Note = "no curve of the law fits these points"
		return u
	}
	u.take(free.constrained(), free)
	return u
}

// uslFit is a least-squares fit of the free parameters; the others are 0.
type uslFit struct {
	n, y []float64
	free []int
	p    []float64
	sum  float64 // sum of squared residuals
}

func newUSLFit(n, y []float64, free []int) *uslFit {
	return &uslFit{n: n, y: y, free: free, p: make([]float64, uslParameters)}
}

// start solves n/throughput = (1 + ...)/rate, which is linear. The weights make its residuals approximate those of the
// throughput.
func (f *uslFit) start() bool {
	rows, right := mat.NewDense(len(f.n), len(f.free), nil), mat.NewVecDense(len(f.n), nil)
	for i, n := range f.n {
		weight := f.y[i] * f.y[i] / n
		for j, k := range f.free {
			rows.Set(i, j, weight*[]float64{1, n - 1, n * (n - 1)}[k])
		}
		right.SetVec(i, weight*n/f.y[i])
	}
	scales := columnScales(rows)
	var c mat.VecDense
	if err := c.SolveVec(rows, right); err != nil && !ignorable(err) {
		return false
	}
	c0 := c.AtVec(0) / scales[0]
	if !(c0 > 0) {
		return false
	}
	for j, k := range f.free {
		f.p[k] = c.AtVec(j) / scales[j] / c0
	}
	f.p[0] = 1 / c0
	return true
}

// columnScales scales each column to length 1 and returns the lengths, so that a thousand cores solve as well as a
// single node.
func columnScales(m *mat.Dense) []float64 {
	_, columns := m.Dims()
	scales := make([]float64, columns)
	for j := range columns {
		scales[j] = cmp.Or(mat.Norm(m.ColView(j), 2), 1)
		column := m.ColView(j).(*mat.VecDense)
		column.ScaleVec(1/scales[j], column)
	}
	return scales
}

func (f *uslFit) squares(p []float64) (sum float64) {
	for i, n := range f.n {
		if 1+p[1]*(n-1)+p[2]*n*(n-1) <= 0 {
			return math.Inf(1)
		}
		residual := f.y[i] - uslAt(p, n)
		sum += residual * residual
	}
	return sum
}

// jacobian returns the derivatives of the throughputs by the free parameters, with columns scaled to length 1, and the
// scales.
func (f *uslFit) jacobian() (*mat.Dense, []float64) {
	j := mat.NewDense(len(f.n), len(f.free), nil)
	for i, n := range f.n {
		d := 1 + f.p[1]*(n-1) + f.p[2]*n*(n-1)
		all := []float64{n / d, -f.p[0] * n * (n - 1) / d / d, -f.p[0] * n * n * (n - 1) / d / d}
		for c, k := range f.free {
			j.Set(i, c, all[k])
		}
	}
	return j, columnScales(j)
}

// solve is a Gauss-Newton iteration. Each step is halved until it lowers the sum of squares, so it cannot diverge.
// Rounds and halvings are bounded. It reports false if there is no finite fit.
func (f *uslFit) solve() bool {
	const rounds, halvings, near = 100, 40, 1e-14
	if !f.start() {
		return false
	}
	f.sum = f.squares(f.p)
	for range rounds {
		j, scales := f.jacobian()
		residuals := mat.NewVecDense(len(f.n), nil)
		for i, n := range f.n {
			residuals.SetVec(i, f.y[i]-uslAt(f.p, n))
		}
		var step mat.VecDense
		if err := step.SolveVec(j, residuals); err != nil && !ignorable(err) {
			break
		}
		better := false
		for share := 1.0; share > math.Pow(0.5, halvings); share /= 2 {
			p := append([]float64{}, f.p...)
			for c, k := range f.free {
				p[k] += share * step.AtVec(c) / scales[c]
			}
			if sum := f.squares(p); sum < f.sum && p[0] > 0 {
				better = f.sum-sum > near*f.sum
				f.p, f.sum = p, sum
				break
			}
		}
		if !better {
			break
		}
	}
	return !math.IsInf(f.sum, 0) && !math.IsNaN(f.sum)
}

// constrained returns the best fit without a negative contention or coherency. A fit with a negative value is repeated
// with one or both fixed at 0, and the one with the smallest sum of squares is taken. Clamping the value alone would
// leave the other parameters fitted to a different curve.
func (f *uslFit) constrained() *uslFit {
	if f.p[1] >= 0 && f.p[2] >= 0 {
		return f
	}
	var best *uslFit
	for _, free := range [][]int{{0, 1}, {0, 2}, {0}} {
		fit := newUSLFit(f.n, f.y, free)
		if fit.solve() && fit.p[1] >= 0 && fit.p[2] >= 0 && (best == nil || fit.sum < best.sum) {
			best = fit
		}
	}
	if best == nil {
		return f
	}
	return best
}

// take sets the values from the constrained fit and the intervals from the free one. A constrained fit lies on the
// border of the allowed region, where linearised intervals do not exist.
func (u *USL) take(fit, free *uslFit) {
	estimates := []*Estimate{&u.Rate, &u.Contention, &u.Coherency}
	for k, e := range estimates {
		e.Value = Figure(fit.p[k])
	}
	if fit != free {
		u.Note = "the points do not bend downwards, so a contention or coherency of 0 fits best"
	}
	if total := (float64(len(fit.y)) - 1) * stat.Variance(fit.y, nil); total > 0 && len(fit.n) > uslParameters {
		u.R2 = Figure(1 - fit.sum/total)
	}
	if u.Coherency.Value > 0 && u.Contention.Value < 1 {
		u.PeakAt = Figure(math.Sqrt((1 - fit.p[1]) / fit.p[2]))
		u.Peak = u.At(float64(u.PeakAt))
	}
	u.bound(free, estimates)
}

// bound sets the interval of each parameter, which is widened to contain the value taken.
func (u *USL) bound(free *uslFit, estimates []*Estimate) {
	freedom := float64(len(free.n) - uslParameters)
	if freedom < 1 {
		u.Note = "no interval: three points always lie on such a curve; measure a fourth"
		return
	}
	j, scales := free.jacobian()
	var information mat.SymDense
	information.SymOuterK(1, j.T())
	var factor mat.Cholesky
	if !factor.Factorize(&information) {
		u.Note = "the points do not determine the parameters of the law"
		return
	}
	var covariance mat.SymDense
	if err := factor.InverseTo(&covariance); err != nil {
		u.Note = "no interval: the points hardly determine the parameters of the law"
		return
	}
	t := quantile(u.Confidence, freedom) * math.Sqrt(free.sum/freedom)
	for k, e := range estimates {
		half := t * math.Sqrt(covariance.At(k, k)) / scales[k]
		e.Low = Figure(math.Max(0, math.Min(free.p[k]-half, float64(e.Value))))
		e.High = Figure(math.Max(free.p[k]+half, float64(e.Value)))
	}
	if u.PeakAt.Known() && u.Coherency.Low == 0 {
		u.Note = "these points do not show a peak, because a coherency of 0 is within its interval"
	}
}
