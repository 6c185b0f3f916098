package tuning

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// independent is testdata/independent.json: results of other implementations, produced by testdata/independent.py.
type independent struct {
	Lines map[string]struct {
		X, Y                                           []float64
		Slope, Intercept, R2, Low, High, At, Predicted float64
		ThroughOrigin                                  float64 `json:"through_origin"`
		ThroughOriginLow                               float64 `json:"through_origin_low"`
		ThroughOriginHigh                              float64 `json:"through_origin_high"`
		ResidualDeviation                              float64 `json:"residual_deviation"`
		PredictedLow                                   float64 `json:"predicted_low"`
		PredictedHigh                                  float64 `json:"predicted_high"`
	}
	Censored map[string]struct {
		Rows                                                       [][3]*float64
		Slope, Intercept, Deviation, Low, High, Capacity, Crossing float64
		CrossingLow                                                float64 `json:"crossing_low"`
		CrossingHigh                                               float64 `json:"crossing_high"`
	}
	USL map[string]struct {
		N, Y, Parameters, Low, High []float64
		R2                          float64
		PeakAt                      float64 `json:"peak_at"`
	}
	Knees []struct {
		Points [][2]float64
		Limit  float64
		Knee   *int
	}
	Tails       []struct{ Low, High, Log float64 }
	Correlation struct {
		X, Y []float64
		R    float64
	}
	Welch []struct {
		Before, After     []float64
		Change, Low, High float64
	}
}

func loadIndependent(t *testing.T) (figures independent) {
	t.Helper()
	text, err := os.ReadFile("testdata/independent.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &figures))
	return figures
}

// same compares with a relative precision.
func same(t *testing.T, want float64, got Figure, precision float64, what string) {
	t.Helper()
	assert.InDelta(t, want, float64(got), precision*math.Max(1e-12, math.Abs(want)), what)
}

func TestLinesAgreeWithStatsmodels(t *testing.T) {
	lines := loadIndependent(t).Lines
	require.Len(t, lines, 5)
	for name, want := range lines {
		t.Run(name, func(t *testing.T) {
			got := FitLine(want.X, want.Y, 0.95)
			same(t, want.Slope, got.Slope, 1e-9, "slope")
			same(t, want.Intercept, got.Intercept, 1e-9, "intercept")
			same(t, want.R2, got.R2, 1e-9, "R-squared")
			same(t, want.Low, got.Low, 1e-8, "low")
			same(t, want.High, got.High, 1e-8, "high")
			same(t, want.ThroughOrigin, got.ThroughOrigin, 1e-9, "through the origin")
			same(t, want.ThroughOriginLow, got.ThroughOriginLow, 1e-8, "through the origin, low")
			same(t, want.ThroughOriginHigh, got.ThroughOriginHigh, 1e-8, "through the origin, high")
			same(t, want.ResidualDeviation, got.ResidualDeviation, 1e-9, "scatter")
			predicted := got.Predict(want.At)
			same(t, want.Predicted, predicted.Value, 1e-9, "predicted")
			same(t, want.PredictedLow, predicted.Low, 1e-8, "predicted, low")
			same(t, want.PredictedHigh, predicted.High, 1e-8, "predicted, high")
		})
	}
}

func TestCensoredFitsAgreeWithSciPy(t *testing.T) {
	fits := loadIndependent(t).Censored
	require.Len(t, fits, 4)
	for name, want := range fits {
		t.Run(name, func(t *testing.T) {
			var rows []CensoredRow
			for _, r := range want.Rows {
				row := CensoredRow{X: *r[0], Low: math.Inf(-1), High: math.Inf(1)}
				if r[1] != nil {
					row.Low = *r[1]
				}
				if r[2] != nil {
					row.High = *r[2]
				}
				rows = append(rows, row)
			}
			got := FitCensored(rows, 0.95)
			same(t, want.Slope, got.Slope, 1e-5, "slope")
			same(t, want.Intercept, got.Intercept, 1e-4, "intercept")
			same(t, want.Deviation, got.Deviation, 1e-4, "deviation")
			same(t, want.Low, got.Low, 1e-5, "low")
			same(t, want.High, got.High, 1e-5, "high")
			crossing := got.XFor(want.Capacity)
			same(t, want.Crossing, crossing.Value, 1e-5, "crossing")
			same(t, want.CrossingLow, crossing.Low, 1e-5, "crossing, low")
			same(t, want.CrossingHigh, crossing.High, 1e-5, "crossing, high")
		})
	}
}

func TestTheScalabilityLawAgreesWithSciPy(t *testing.T) {
	laws := loadIndependent(t).USL
	require.Len(t, laws, 2)
	for name, want := range laws {
		t.Run(name, func(t *testing.T) {
			got := FitUSL(want.N, want.Y, 0.95)
			for i, e := range []Estimate{got.Rate, got.Contention, got.Coherency} {
				same(t, want.Parameters[i], e.Value, 1e-6, "value")
				assert.InDelta(t, math.Max(0, want.Low[i]), float64(e.Low), 1e-4*math.Abs(want.Parameters[i]), "low")
				assert.InDelta(t, want.High[i], float64(e.High), 1e-4*math.Abs(want.Parameters[i]), "high")
			}
			same(t, want.R2, got.R2, 1e-8, "R-squared")
			same(t, want.PeakAt, got.PeakAt, 1e-6, "peak")
		})
	}
}

func TestKneesAgreeWithKneed(t *testing.T) {
	knees := loadIndependent(t).Knees
	require.Len(t, knees, 5)
	for _, want := range knees {
		var points []LatencyPoint
		for _, p := range want.Points {
			points = append(points, LatencyPoint{int(p[0]), p[1]})
		}
		got, why := FindKnee(points, want.Limit)
		if want.Knee == nil {
			assert.Nil(t, got)
			assert.NotEmpty(t, why)
			continue
		}
		require.NotNil(t, got, why)
		assert.Equal(t, *want.Knee, got.Queries, "%v", want.Points)
	}
}

func TestTailsAgreeWithMpmath(t *testing.T) {
	tails := loadIndependent(t).Tails
	require.Len(t, tails, 10)
	for _, want := range tails {
		same(t, want.Log, Figure(logBetween(want.Low, want.High)), 1e-9, "")
	}
}

// The correlation of GC with CPU is computed through the analysis itself.
func TestTheCorrelationAgreesWithSciPy(t *testing.T) {
	want := loadIndependent(t).Correlation
	same(t, want.R, Figure(stat.Correlation(want.X, want.Y, nil)), 1e-12, "gonum's")
	var rows []ConcurrencyRow
	for i := range want.X {
		rows = append(rows, ConcurrencyRow{Queries: 100 * i, AverageCPUMsPerMinute: Figure(want.X[i]),
			AverageGCMsPerMinute: Figure(want.Y[i]),
			AverageResultSize:    10, Workers: Unknown, TotalCPUMsPerMinute: Unknown})
	}
	got, err := AnalyzeConcurrency(rows, DefaultGoals(), 0.95)
	require.NoError(t, err)
	same(t, want.R, got.GCCorrelation, 1e-12, "the analysis'")
	same(t, 900.0/90_000, got.Steps[0].GCShareOfCPU, 1e-12, "GC of CPU")
	same(t, 900.0/60_000, got.Steps[0].GCShareOfTime, 1e-12, "GC of time")
}
