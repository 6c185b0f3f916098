package tuning

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// leastPairs is the minimum number of pairs for a correlation.
const leastPairs = 5

// Correlate returns Pearson's correlation of two figures, slice by slice in the order of time, with Fisher's interval.
// Consecutive slices resemble each other. n slices therefore count as n (1 - ab) / (1 + ab) independent pairs, with
// the figures' autocorrelations a and b (Bartlett 1946). Pairs with an unknown value are left out.
func Correlate(x, y []Figure, confidence float64) Estimate {
	var a, b []float64
	for i := range x {
		if x[i].Known() && y[i].Known() {
			a, b = append(a, float64(x[i])), append(b, float64(y[i]))
		}
	}
	if len(a) < leastPairs {
		return notDetermined(fmt.Sprintf("only %d slices have both figures; a correlation needs %d", len(a), leastPairs))
	}
	e := noEstimate()
	if e.Value = Figure(stat.Correlation(a, b, nil)); !e.Value.Known() {
		return notDetermined("one of the two figures is constant")
	}
	autocorrelation := math.Max(0, neighbours(a)) * math.Max(0, neighbours(b))
	pairs := float64(len(a)) * (1 - autocorrelation) / (1 + autocorrelation)
	if pairs <= 4 || math.Abs(float64(e.Value)) >= 1 {
		e.Note = fmt.Sprintf("no interval: the %d slices count as only %s independent ones", len(a),
			Digits(Figure(pairs)))
		return e
	}
	half := distuv.UnitNormal.Quantile(0.5+confidence/2) / math.Sqrt(pairs-3)
	z := math.Atanh(float64(e.Value))
	e.Low, e.High = Figure(math.Tanh(z-half)), Figure(math.Tanh(z+half))
	return e
}

// neighbours returns the autocorrelation of values at lag 1; 0 if the values are constant.
func neighbours(values []float64) float64 {
	mean, about, along := stat.Mean(values, nil), 0.0, 0.0
	for i, v := range values {
		about += (v - mean) * (v - mean)
		if i > 0 {
			along += (v - mean) * (values[i-1] - mean)
		}
	}
	if about == 0 {
		return 0
	}
	return along / about
}
