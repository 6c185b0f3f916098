package tuning

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// TargetLoad is the load that a topology is sized for.
type TargetLoad struct {
	RecordsPerS float64    `json:"records_per_s"`
	Queries     int        `json:"queries"`
	Goals       QueryGoals `json:"-"`
	// QueryTestRecordsPerS is the record rate at which the grid of queries was measured; unknown if it was not stated.
	QueryTestRecordsPerS Figure  `json:"-"`
	Machine              Machine `json:"-"`
	// Class is the queries' class, for the text; "" means RAW.
	Class string `json:"-"`
	// Extrapolate allows a sizing outside of the measured range.
	Extrapolate bool `json:"-"`
}

// Measurements are the inputs of a sizing: volumes, a grid of queries, and a table of further components, which
// neither of them affects. If volumes or points are missing, the result of that part is unknown and noted.
type Measurements struct {
	Volumes []DataRow
	Points  []QueryPoint
	Others  []Component
	// OthersFrom states where Others comes from; "" means the table of components.
	OthersFrom string
}

// OutOfRange is the error for a load outside of the measured range.
type OutOfRange struct{ Outside []string }

func (o OutOfRange) Error() string {
	return strings.Join(o.Outside, "; ") +
		". Measure there, or give --extrapolate to extend the fits beyond the measurements"
}

// checkRange refuses a load outside of the measured range, unless Extrapolate allows it.
func (z *sizer) checkRange() error {
	if z.queries != nil {
		least, most, err := z.queries.okRange()
		if err != nil {
			return err
		}
		if math.Ceil(z.capacity()) >= least {
			least = math.Inf(-1) // the headroom leads into the measured range
		}
		z.within("queries", float64(z.Queries), least, most, "held within the limit")
	}
	if len(z.volumes) > 0 {
		z.within("records/s", z.RecordsPerS, float64(z.volumes[0].RecordsPerS),
			float64(z.volumes[len(z.volumes)-1].RecordsPerS), "measured")
	}
	if len(z.s.Outside) > 0 && !z.Extrapolate {
		return OutOfRange{z.s.Outside}
	}
	return nil
}

// capacity returns the capacity that leaves the headroom free at the requested number of queries.
func (z *sizer) capacity() float64 { return float64(z.Queries) / (1 - z.Goals.Headroom) }

// okRange returns the range from the fewest judged queries to the most that were held.
func (q *Queries) okRange() (least, most float64, err error) {
	least, most = math.Inf(1), math.Inf(-1)
	decided, above := 0, 0
	for _, row := range q.Rows {
		for _, p := range row.Points {
			if !p.Verdict.judges() {
				continue
			}
			decided++
			least = min(least, float64(p.Queries))
			if p.LatencyMs > q.LimitMs {
				above++
			}
		}
		held, _ := row.Capacity.Bounds(math.Inf(-1), 0)
		most = max(most, held)
	}
	switch {
	case !math.IsInf(most, -1):
		return least, most, nil
	case decided > 0 && decided == above:
		return 0, 0, fmt.Errorf(
			"every measured point is above the limit of %g ms, so no configuration is known to hold any query",
			float64(q.LimitMs))
	}
	return 0, 0, errors.New(
		"no measured point below the first FAIL is OK, so no configuration is known to hold any query")
}

func (z *sizer) within(what string, v, least, most float64, how string) {
	switch {
	case v > most:
		z.s.Outside = append(z.s.Outside, fmt.Sprintf("%s %s is %.3g%% above the largest value that was %s, %s",
			Digits(Figure(v)), what, 100*(v/most-1), how, Digits(Figure(most))))
	case v < least:
		z.s.Outside = append(z.s.Outside, fmt.Sprintf("%s %s is %.3g%% below the smallest value that was %s, %s",
			Digits(Figure(v)), what, 100*(1-v/least), how, Digits(Figure(least))))
	}
}
