package tuning

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// DefaultConfidence is the default probability that an interval contains the true value.
const DefaultConfidence = 0.95

// CheckConfidence returns an error if c is not a valid confidence level (0.5 to below 1).
func CheckConfidence(c float64) error {
	if !(c >= 0.5 && c < 1) {
		return errors.New("the confidence must be at least 0.5 and below 1, such as 0.95")
	}
	return nil
}

// Line is a least-squares line through points, together with the line through the origin. Intervals are Student's t,
// which is exact if the points scatter about the line normally, independently and with constant variance. Values that
// the points do not determine are unknown, and Note states why.
type Line struct {
	Slope     Figure `json:"slope"`
	Intercept Figure `json:"intercept"`
	// R2 is the share of y's variance that the line explains.
	R2 Figure `json:"r2"`
	// Low and High bound the slope.
	Low               Figure `json:"low"`
	High              Figure `json:"high"`
	ThroughOrigin     Figure `json:"through_origin"`
	ThroughOriginLow  Figure `json:"through_origin_low"`
	ThroughOriginHigh Figure `json:"through_origin_high"`
	// ResidualDeviation is the standard deviation of the points about the line, in y's unit.
	ResidualDeviation Figure  `json:"residual_deviation"`
	Points            int     `json:"points"`
	Confidence        float64 `json:"confidence"`
	Note              string  `json:"note,omitempty"`

	meanX, sumSquaresX float64
}

// FitLine fits y over x. Both must have the same length.
func FitLine(x, y []float64, confidence float64) Line {
	l := unmeasured[Line]()
	l.Points, l.Confidence = len(x), confidence
	l.throughOrigin(x, y)
	if len(x) < 2 {
		l.Note = fmt.Sprintf("a line needs at least two points, but there are %d", len(x))
		return l
	}
	l.meanX = stat.Mean(x, nil)
	for _, v := range x {
		l.sumSquaresX += (v - l.meanX) * (v - l.meanX)
	}
	if floats.Max(x) == floats.Min(x) {
		l.Note = fmt.Sprintf("no slope: all points have the same x, %g", x[0])
		return l
	}
	intercept, slope := stat.LinearRegression(x, y, nil, false)
	l.Intercept, l.Slope = Figure(intercept), Figure(slope)
	l.judgeScatter(x, y)
	return l
}

// throughOrigin fits y = slope x, for which a single point is enough.
func (l *Line) throughOrigin(x, y []float64) {
	squares := floats.Dot(x, x)
	if len(x) == 0 || squares == 0 {
		return
	}
	_, slope := stat.LinearRegression(x, y, nil, true)
	l.ThroughOrigin = Figure(slope)
	if len(x) < 2 {
		return
	}
	freedom := float64(len(x) - 1)
	half := quantile(l.Confidence, freedom) * math.Sqrt(residualSquares(x, y, 0, slope)/freedom/squares)
	l.ThroughOriginLow, l.ThroughOriginHigh = Figure(slope-half), Figure(slope+half)
}

// judgeScatter computes how precisely the line is known.
func (l *Line) judgeScatter(x, y []float64) {
	slope, intercept := float64(l.Slope), float64(l.Intercept)
	squares := residualSquares(x, y, intercept, slope)
	if len(x) == 2 {
		l.Note = "no interval: two points always lie on a line"
		return
	}
	freedom := float64(len(x) - 2)
	deviation := math.Sqrt(squares / freedom)
	half := quantile(l.Confidence, freedom) * deviation / math.Sqrt(l.sumSquaresX)
	l.ResidualDeviation, l.Low, l.High = Figure(deviation), Figure(slope-half), Figure(slope+half)
	if floats.Max(y) == floats.Min(y) {
		l.Note = "R-squared is unknown, because all values are the same"
		return
	}
	l.R2 = Figure(math.Max(0, stat.RSquared(x, y, nil, intercept, slope)))
	if deviation <= 1e-12*(floats.Max(y)-floats.Min(y)) {
		l.Note = "the points lie exactly on the line, so the interval is too narrow"
	}
}

func residualSquares(x, y []float64, intercept, slope float64) (sum float64) {
	for i := range x {
		residual := y[i] - intercept - slope*x[i]
		sum += residual * residual
	}
	return sum
}

// quantile returns the half-width of an interval in standard errors.
func quantile(confidence, freedom float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(0.5 + confidence/2)
}

// At returns the line's y at x; unknown if the line is.
func (l Line) At(x float64) Figure { return l.Intercept + l.Slope*Figure(x) }

// Estimate is a value with its interval at the stated confidence.
type Estimate struct {
	Value Figure `json:"value"`
	Low   Figure `json:"low"`
	High  Figure `json:"high"`
	Note  string `json:"note,omitempty"`
}

// Predict returns y of one new point at x. Its interval contains the point, not only the line.
func (l Line) Predict(x float64) Estimate {
	e := Estimate{Value: l.At(x), Low: Unknown, High: Unknown, Note: l.Note}
	if !l.ResidualDeviation.Known() {
		return e
	}
	n := float64(l.Points)
	spread := math.Sqrt(1 + 1/n + (x-l.meanX)*(x-l.meanX)/l.sumSquaresX)
	half := Figure(quantile(l.Confidence, n-2) * float64(l.ResidualDeviation) * spread)
	e.Low, e.High = e.Value-half, e.Value+half
	return e
}
