package tuning

import (
	"fmt"
	"math"
	"strings"
)

// Demand is what a topology is to be sized for.
type Demand struct {
	RecordsPerS float64    `json:"records_per_s"`
	Queries     int        `json:"queries"`
	Goals       QueryGoals `json:"-"`
	// QueryTestRecordsPerS is the record rate at which the grid of queries was measured; unknown where nobody said.
	QueryTestRecordsPerS Figure  `json:"-"`
	Machine              Machine `json:"-"`
	// Extrapolate sizes also for what lies outside of what was measured.
	Extrapolate bool `json:"-"`
}

// Measurements are what was measured: volumes and a grid of queries, and, for components that neither moves, a table of components.
type Measurements struct {
	Volumes []DataRow
	Points  []QueryPoint
	Others  []Component
}

// OutOfRange is a demand outside of what was measured.
type OutOfRange struct{ Outside []string }

func (o OutOfRange) Error() string {
	return strings.Join(o.Outside, "; ") + ". Measure there, or give --extrapolate to have the fits drawn on beyond the measurements"
}

// checkRange refuses what was not measured, unless told otherwise.
func (z *sizer) checkRange() error {
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range z.queries.Rows {
		for _, p := range row.Points {
			least = min(least, float64(p.Queries))
		}
		if row.Capacity.LastOK != nil {
			most = max(most, float64(*row.Capacity.LastOK))
		}
	}
	if math.IsInf(most, -1) {
		return fmt.Errorf("every measured point is above the limit of %g ms: no configuration is known to hold any query", z.Goals.LimitMs)
	}
	z.within("queries", float64(z.Queries), least, most, "held within the limit")
	z.within("records/s", z.RecordsPerS, float64(z.volumes[0].RecordsPerS), float64(z.volumes[len(z.volumes)-1].RecordsPerS), "measured")
	if len(z.s.Outside) > 0 && !z.Extrapolate {
		return OutOfRange{z.s.Outside}
	}
	return nil
}

func (z *sizer) within(what string, v, least, most float64, how string) {
	switch {
	case v > most:
		z.s.Outside = append(z.s.Outside, fmt.Sprintf("%s %s is %.3g%% above the most that was %s, %s", grouped(v), what, 100*(v/most-1), how, grouped(most)))
	case v < least:
		z.s.Outside = append(z.s.Outside, fmt.Sprintf("%s %s is %.3g%% below the least that was %s, %s", grouped(v), what, 100*(1-v/least), how, grouped(least)))
	}
}
