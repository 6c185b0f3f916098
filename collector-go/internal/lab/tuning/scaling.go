package tuning

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ScalingRow is the throughput of a number of nodes or cores.
type ScalingRow struct {
	Size, Throughput float64
}

// ScalingColumns name the columns of size and throughput, for messages.
type ScalingColumns struct {
	Size       string `json:"size"`
	Throughput string `json:"throughput"`
}

// DefaultDiscount is the overhead of added nodes in CrateDB's ingestion test: 25% of what each node adds.
const DefaultDiscount = 0.25

// ScalingPoint is a row with its projections.
type ScalingPoint struct {
	Size       Figure `json:"size"`
	Throughput Figure `json:"throughput"`
	// Ideal is the smallest size's throughput times the ratio of the sizes. Discounted reduces what is added to the
	// smallest size by the discount.
	Ideal      Figure `json:"ideal"`
	Discounted Figure `json:"discounted"`
	Law        Figure `json:"usl"`
	// Efficiency is throughput over ideal; VersusDiscounted is throughput over discounted.
	Efficiency       Figure `json:"efficiency"`
	VersusDiscounted Figure `json:"versus_discounted"`
}

// Scaling is a scaling curve: measured, ideal, discounted, and the Universal Scalability Law.
type Scaling struct {
	Columns  ScalingColumns `json:"columns"`
	Discount Figure         `json:"discount"`
	Rows     []ScalingPoint `json:"rows"`
	USL      USL            `json:"usl"`
	Notes    []string       `json:"notes"`
}

// AnalyzeScaling compares a curve with its projections.
func AnalyzeScaling(rows []ScalingRow, columns ScalingColumns, discount, confidence float64) (*Scaling, error) {
	if !(discount >= 0 && discount < 1) {
		return nil, errors.New("the discount must be at least 0 and below 1")
	}
	if err := errors.Join(CheckConfidence(confidence), checkScaling(rows, columns)); err != nil {
		return nil, err
	}
	rows = slices.SortedFunc(slices.Values(rows), func(a, b ScalingRow) int { return cmp.Compare(a.Size, b.Size) })
	var sizes, throughputs []float64
	for _, r := range rows {
		sizes, throughputs = append(sizes, r.Size), append(throughputs, r.Throughput)
	}
	s := &Scaling{Columns: columns, Discount: Figure(discount), USL: FitUSL(sizes, throughputs, confidence),
		Notes: []string{}}
	base := rows[0]
	for _, r := range rows {
		ideal := base.Throughput * r.Size / base.Size
		discounted := base.Throughput + (1-discount)*(ideal-base.Throughput)
		s.Rows = append(s.Rows, ScalingPoint{Size: Figure(r.Size), Throughput: Figure(r.Throughput),
			Ideal: Figure(ideal), Discounted: Figure(discounted), Law: s.USL.At(r.Size),
			Efficiency: Figure(r.Throughput / ideal), VersusDiscounted: Figure(r.Throughput / discounted)})
	}
	s.explain(base)
	return s, nil
}

func checkScaling(rows []ScalingRow, columns ScalingColumns) error {
	var wrong faults
	seen := map[float64]int{}
	for i, r := range rows {
		n := i + 1
		wrong.positive(n, columns.Size, r.Size)
		wrong.positive(n, columns.Throughput, r.Throughput)
		once(&wrong, seen, r.Size, n, columns.Size, "size %g occurs twice; keep one row per size", r.Size)
	}
	if len(rows) == 0 {
		wrong.add(0, columns.Size, "there are no rows")
	}
	return wrong.err()
}

func (s *Scaling) explain(base ScalingRow) {
	s.Notes = append(s.Notes, "the ideal and the discounted curve start from the smallest size, "+Digits(Figure(base.Size)))
	if len(s.Rows) == 1 {
		s.Notes = append(s.Notes, "one size shows no scaling; measure more sizes")
	}
	if s.USL.Note != "" {
		s.Notes = append(s.Notes, "Universal Scalability Law: "+s.USL.Note)
	}
	best := slices.MaxFunc(s.Rows, func(a, b ScalingPoint) int { return cmp.Compare(a.Efficiency, b.Efficiency) })
	if best.Efficiency > 1.0001 {
		s.Notes = append(s.Notes, fmt.Sprintf("size %s reaches %.0f%% of linear scaling: the smallest size was not fully used, so the projections are too low",
			Digits(best.Size), math.Round(100*float64(best.Efficiency))))
	}
}
