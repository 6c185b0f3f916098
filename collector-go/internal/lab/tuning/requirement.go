package tuning

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// filterBolts computes the filter bolts that the records and the queries need.
func (z *sizer) filterBolts() error {
	z.s.FilterBoltsForRecords = z.parallelism(filterBolt)
	if len(z.volumes) == 0 {
		z.s.FilterBoltsForRecords.Note = "no data volumes were measured"
	}
	if z.queries == nil {
		z.s.FilterBoltsForQueries = notDetermined("no measurements of filter bolts by queries")
		return nil
	}
	required, err := z.boltsFor(z.capacity())
	if err != nil {
		return err
	}
	at := z.QueryTestRecordsPerS
	if !at.Known() && len(z.volumes) == 0 {
		return errors.New("the record rate at which the queries were measured is unknown")
	}
	if !at.Known() {
		at = z.volumes[0].RecordsPerS
		z.note("the record rate of the query test is unknown (no column %s, no --query-records-per-s): the smallest measured volume is used, %s records/s, "+
			"which gives the most filter bolts", ColumnRecordRate, Digits(at))
	}
	share := Figure(z.RecordsPerS) / at
	if share != 1 {
		z.note("the filter bolts for queries are those of the query test times %.4g, the ratio of the record rates, because each bolt matches each of its records against each query",
			float64(share))
	}
	required.Value, required.Low, required.High = required.Value*share, required.Low*share, required.High*share
	z.s.FilterBoltsForQueries = required
	return nil
}

// boltsFor returns how many filter bolts hold a capacity at the query test's record rate. It is at least the smallest
// measured number.
func (z *sizer) boltsFor(capacity float64) (Estimate, error) {
	var rows []CensoredRow
	for _, row := range z.queries.Rows {
		if r, known := row.Capacity.censored(float64(row.FilterBolts)); known {
			rows = append(rows, r)
		}
	}
	required := FitCensored(rows, z.Goals.Confidence).XFor(capacity) // of the capacity over filter bolts
	if !required.Value.Known() {
		for _, row := range z.queries.Rows {
			if row.Capacity.LastOK != nil && *row.Capacity.LastOK >= capacity {
				required.Value = Figure(row.FilterBolts)
				z.note("no fit of queries (%s): the smallest measured configuration that held them is used", required.Note)
				return required, nil
			}
		}
		return required, fmt.Errorf("the query table has no fit (%s), and no measured configuration held the %.0f queries that %d queries with %s headroom need",
			required.Note, math.Ceil(capacity), z.Queries, ConfidencePercent(z.Goals.Headroom))
	}
	if required.Note != "" {
		z.note("filter bolts for queries: %s", required.Note)
	}
	if most := z.mostHeld(); capacity > most && float64(z.Queries) <= most {
		z.note("%d queries with %s headroom need a capacity of %.0f, more than the %.0f that were held: the fit is extended for the headroom",
			z.Queries, ConfidencePercent(z.Goals.Headroom), math.Ceil(capacity), most)
	}
	if fewest := Figure(z.queries.Rows[0].FilterBolts); required.Value < fewest {
		required.Value = fewest
		z.note("the result has at least %d filter bolts, as many as the smallest measured configuration", int(fewest))
	}
	return required, nil
}

func (z *sizer) mostHeld() (most float64) {
	for _, row := range z.queries.Rows {
		held, _ := row.Capacity.Bounds(0, 0)
		most = max(most, held)
	}
	return most
}

// over fits a figure of the volumes over their record rates and predicts it for the requested rate. The fit is a power
// law (a straight line of the logarithms), because errors are proportional to the size and no figure is below 0.
func (z *sizer) over(figure func(Volume) (Figure, bool)) Estimate {
	var x, y []float64
	for _, v := range z.volumes {
		if f, found := figure(v); found && f > 0 {
			x, y = append(x, math.Log(float64(v.RecordsPerS))), append(y, math.Log(float64(f)))
		}
	}
	at := math.Log(z.RecordsPerS)
	if len(x) == 1 && x[0] == at {
		return Estimate{Value: Figure(math.Exp(y[0])), Low: Unknown, High: Unknown,
			Note: "no interval: only this volume was measured"}
	}
	e := FitLine(x, y, z.Goals.Confidence).Predict(at)
	for _, f := range []*Figure{&e.Value, &e.Low, &e.High} {
		*f = Figure(math.Exp(float64(*f)))
	}
	return e
}

// parallelism returns a component's parallelism at the requested record rate; unknown if the volumes do not contain
// it.
func (z *sizer) parallelism(name string) Estimate {
	return z.over(func(v Volume) (Figure, bool) {
		c, found := componentNamed(name, v.Components)
		return Figure(c.Parallelism), found
	})
}

// largerRequirement returns the larger of the filter bolts for records and for queries, with the reason.
func (z *sizer) largerRequirement() (Estimate, string) {
	records, queries := z.s.FilterBoltsForRecords, z.s.FilterBoltsForQueries
	switch {
	case z.queries == nil:
		return records, "for the records/s; the number for the queries is unknown"
	case len(z.volumes) == 0:
		return queries, "for the queries"
	case !records.Value.Known():
		return queries, "for the queries; the number for the records/s is unknown"
	case queries.Value > records.Value:
		return queries, fmt.Sprintf("for the queries; the records/s alone need %.0f",
			math.Ceil(float64(records.Value)-1e-9))
	}
	return records, fmt.Sprintf("for the records/s; the queries alone need %.0f", math.Ceil(float64(queries.Value)-1e-9))
}

// perFilterBolt returns how much of a figure one filter bolt adds in the query table.
func (z *sizer) perFilterBolt(figure func(QueryRow) Figure) Figure {
	var x, y []float64
	for _, r := range z.queries.Rows {
		if v := figure(r); v.Known() {
			x, y = append(x, float64(r.FilterBolts)), append(y, float64(v))
		}
	}
	if slope := FitLine(x, y, z.Goals.Confidence).Slope; slope > 0 {
		return slope
	}
	return 0
}

func (e Estimate) plus(v Figure) Estimate {
	e.Value, e.Low, e.High = e.Value+v, e.Low+v, e.High+v
	return e
}

// YAML returns the configuration as Bullet's settings, with the uncertainty as comments.
func (s *Sizing) YAML() string {
	var out strings.Builder
	comment := func(format string, args ...any) { fmt.Fprintf(&out, "# "+format+"\n", args...) }
	load := fmt.Sprintf(
		"Bullet on Storm for %s records/s and %d %s queries at an average filter latency of at most %g ms",
		Digits(s.RecordsPerS), s.Queries, s.Class, float64(s.LimitMs))
	if s.queriesMeasured {
		comment("%s,", load)
		comment("with %s of the capacity for queries left free.", ConfidencePercent(float64(s.Headroom)))
	} else {
		comment("%s.", load)
	}
	comment("Each parallelism is an estimate, rounded up. The comment after it is the %s interval for one cluster.",
		ConfidencePercent(s.Confidence))
	for _, o := range s.Outside {
		comment("OUTSIDE THE MEASUREMENTS: %s.", o)
	}
	comment("The whole topology: %s CPU cores, %s MiB of memory; %s (%s).", s.CPUCores.text(), s.MemoryMiB.text(),
		s.MachinesText(), s.Machine.text())
	for _, n := range s.Notes {
		comment("Note: %s.", n)
	}
	for _, setting := range s.Settings {
		fmt.Fprintf(&out, "%s: %s%s\n", setting.Key, setting.text(), setting.comment())
	}
	return out.String()
}

// MachinesText returns the number of machines as text, "9 machines".
func (s *Sizing) MachinesText() string {
	if s.Machines == 0 {
		return "an unknown number of machines"
	}
	return Counted(s.Machines, "machine")
}

func (s Setting) text() string {
	if s.integer {
		return strconv.FormatFloat(s.Value, 'f', 0, 64)
	}
	text := strconv.FormatFloat(s.Value, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func (s Setting) comment() string {
	var parts []string
	switch {
	case s.Low.Known() && s.High.Known():
		parts = append(parts, fmt.Sprintf("%.0f to %.0f", math.Floor(float64(s.Low)), math.Ceil(float64(s.High))))
	case s.Low.Known():
		parts = append(parts, fmt.Sprintf("at least %.0f, no upper bound", math.Floor(float64(s.Low))))
	case s.High.Known():
		parts = append(parts, fmt.Sprintf("at most %.0f", math.Ceil(float64(s.High))))
	case s.integer && !strings.HasPrefix(s.Reason, "as "):
		parts = append(parts, "interval unknown")
	}
	if s.Reason != "" {
		parts = append(parts, s.Reason)
	}
	if unit := s.unit(); unit != "" {
		parts = append(parts, unit)
	}
	if len(parts) == 0 {
		return ""
	}
	return "  # " + strings.Join(parts, "; ")
}

func (s Setting) unit() string {
	switch {
	case strings.HasSuffix(s.Key, ".cpu.load"):
		return "100 is one core"
	case strings.Contains(s.Key, ".memory."):
		return "MiB per instance"
	}
	return ""
}

// wholeFrom is the value from which on an estimate is formatted without decimals.
const wholeFrom = 100

func (e Estimate) text() string {
	if !e.Value.Known() {
		return "an unknown number of"
	}
	value, low, high := grouped(math.Round(float64(e.Value))), grouped(math.Floor(math.Max(0, float64(e.Low)))),
		grouped(math.Ceil(float64(e.High)))
	if e.Value < wholeFrom {
		value, low, high = Digits(e.Value), Digits(max(0, e.Low)), Digits(e.High)
	}
	if !e.Low.Known() || !e.High.Known() {
		return value
	}
	return fmt.Sprintf("%s (%s to %s)", value, low, high)
}

func (m Machine) text() string {
	if !m.known() {
		return "the machine is unknown"
	}
	text := fmt.Sprintf("%g cores", float64(m.CPUCores))
	if m.MemoryMiB.Known() {
		text += fmt.Sprintf(", %s MiB", Digits(m.MemoryMiB))
	}
	return text + " each"
}
