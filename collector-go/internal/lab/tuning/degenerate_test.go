package tuning

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Values that few or unusual points do not determine are unknown, and a note states why.
func TestLinesOfTooLittle(t *testing.T) {
	for name, c := range map[string]struct {
		x, y                        []float64
		slope, interval, r2, origin bool
		note                        string
	}{
		"nothing": {nil, nil, false, false, false, false, "at least two points, but there are 0"},
		"one point": {[]float64{2}, []float64{6}, false, false, false, true,
			"at least two points, but there are 1"},
		"two points":     {[]float64{2, 3}, []float64{6, 8}, true, false, false, true, "two points always lie on a line"},
		"one x":          {[]float64{2, 2, 2}, []float64{6, 8, 7}, false, false, false, true, "same x, 2"},
		"one y":          {[]float64{1, 2, 3}, []float64{5, 5, 5}, true, true, false, true, "R-squared is unknown"},
		"a perfect line": {[]float64{1, 2, 3}, []float64{10, 20, 30}, true, true, true, true, "lie exactly on the line"},
		"only zeroes":    {[]float64{0, 0}, []float64{0, 1}, false, false, false, false, "same x"},
		"enough":         {[]float64{1, 2, 3}, []float64{10, 20, 31}, true, true, true, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := FitLine(c.x, c.y, 0.95)
			assert.Equal(t, []bool{c.slope, c.interval, c.interval, c.r2, c.origin},
				[]bool{l.Slope.Known(), l.Low.Known(), l.High.Known(), l.R2.Known(), l.ThroughOrigin.Known()})
			if c.note == "" {
				assert.Empty(t, l.Note)
			} else {
				assert.Contains(t, l.Note, c.note)
			}
			assert.NotContains(t, text(t, l), "NaN")
		})
	}
}

func TestCensoredFitsOfTooLittle(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		rows            []CensoredRow
		slope, interval bool
		note            string
	}{
		"nothing":             {nil, false, false, "FAIL step, but there are 0"},
		"one row":             {[]CensoredRow{{4, 10, 20}}, false, false, "but there are 1"},
		"one row and a bound": {[]CensoredRow{{4, 10, 20}, {8, 30, inf}}, false, false, "but there are 1"},
		"all bounds": {[]CensoredRow{{4, 10, inf}, {8, 30, inf}, {12, -inf, 50}}, false, false,
			"no slope: no row has both"},
		"rows at one place": {[]CensoredRow{{4, 10, 20}, {4, 12, 22}, {4, 11, 30}}, false, false, "but there are 1"},
		"two rows":          {[]CensoredRow{{4, 10, 20}, {8, 30, 40}}, true, false, "measure a third"},
		"three rows":        {[]CensoredRow{{4, 10, 20}, {8, 30, 40}, {12, 49, 60}}, true, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := FitCensored(c.rows, 0.95)
			assert.Equal(t, []bool{c.slope, c.interval}, []bool{f.Slope.Known(), f.Low.Known() && f.High.Known()})
			if c.note == "" {
				assert.Empty(t, f.Note)
			} else {
				assert.Contains(t, f.Note, c.note)
			}
			e := f.XFor(25)
			assert.Equal(t, c.slope, e.Value.Known())
		})
	}
	two := FitCensored([]CensoredRow{{4, 10, 20}, {8, 30, 40}}, 0.95)
	same(t, 5, two.Slope, 1e-9, "the middle of 10/4 and 30/4")
	same(t, 2.5, two.SlopesLow, 1e-9, "least")
	same(t, 7.5, two.SlopesHigh, 1e-9, "most")
	falling := FitCensored([]CensoredRow{{4, 30, 31}, {8, 20, 21}, {12, 10, 11}}, 0.95)
	assert.Contains(t, falling.XFor(25).Note, "does not increase")
}

func TestLawsOfTooLittle(t *testing.T) {
	two := FitUSL([]float64{1, 2}, []float64{10, 19}, 0.95)
	assert.False(t, two.Rate.Value.Known())
	assert.Contains(t, two.Note, "at least three sizes, but there are 2")
	three := FitUSL([]float64{1, 2, 4}, []float64{10, 18, 29}, 0.95)
	assert.True(t, three.Rate.Value.Known())
	assert.False(t, three.Rate.Low.Known() || three.R2.Known())
	assert.Contains(t, three.Note, "measure a fourth")
	straight := FitUSL([]float64{1, 2, 4, 8}, []float64{10, 20, 40, 80}, 0.95)
	same(t, 10, straight.Rate.Value, 1e-9, "rate")
	assert.InDelta(t, 0, float64(straight.Contention.Value), 1e-9)
	assert.False(t, straight.PeakAt.Known() && straight.PeakAt < 1000)
	better := FitUSL([]float64{1, 2, 4, 8}, []float64{10, 25, 60, 150}, 0.95)
	assert.Equal(t, []Figure{0, 0}, []Figure{better.Contention.Value, better.Coherency.Value})
	assert.Contains(t, better.Note, "bend downwards")
	for _, u := range []USL{two, three, straight, better} {
		assert.NotContains(t, text(t, u), "NaN")
	}
}

func TestKnees(t *testing.T) {
	steep := []LatencyPoint{{10, 5}, {20, 5}, {30, 6}, {40, 7}, {50, 500}, {60, 5000}}
	for name, c := range map[string]struct {
		points []LatencyPoint
		knee   *Knee
		why    string
	}{
		"three points":        {steep[:3], nil, "fewer than four"},
		"a wall":              {steep, &Knee{40, true}, ""},
		"far beyond":          {append(steep[:6:6], LatencyPoint{2000, 900}), &Knee{40, true}, ""},
		"flat":                {[]LatencyPoint{{10, 5}, {20, 5}, {30, 5}, {40, 5}}, nil, "has no bend"},
		"an even rise":        {[]LatencyPoint{{10, 5}, {20, 10}, {30, 20}, {40, 40}}, nil, "has no bend"},
		"all failed":          {[]LatencyPoint{{10, 500}, {20, 600}, {30, 700}, {40, 900}}, nil, "has no bend"},
		"zeroes":              {[]LatencyPoint{{10, 0}, {20, 0}, {30, 0}, {40, 0}}, nil, "has no bend"},
		"a wall of one point": {[]LatencyPoint{{10, 0}, {20, 4}, {30, 4}, {40, 4}, {50, 900}}, &Knee{40, false}, ""},
		"one wild point": {[]LatencyPoint{{10, 5}, {20, 5}, {30, 5}, {40, 150}, {50, 20}, {60, 160}, {70, 150}},
			&Knee{30, false}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			knee, why := FindKnee(c.points, 200)
			assert.Equal(t, c.knee, knee)
			if c.why != "" {
				assert.Contains(t, why, c.why)
			}
		})
	}
}

func TestCapacities(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	for name, c := range map[string]struct {
		steps []Measured
		want  Interval
	}{
		"both ends": {[]Measured{{0, Baseline}, {100, OK}, {200, OK}, {300, Fail}},
			Interval{LastOK: n(200), FirstFail: n(300)}},
		"none failed": {[]Measured{{100, OK}, {200, OK}},
			Interval{LastOK: n(200), Censored: true, Note: "at least 200"}},
		"all failed": {[]Measured{{100, Fail}, {200, Fail}}, Interval{FirstFail: n(100), Note: "below 100"}},
		"nothing": {[]Measured{{0, Baseline}, {100, Inconclusive}},
			Interval{Inconclusive: []float64{100}, Note: "the capacity is unknown"}},
		"OK after": {[]Measured{{100, OK}, {200, Fail}, {300, OK}},
			Interval{LastOK: n(100), FirstFail: n(200), Note: "300 was OK although 200 failed: repeat these steps"}},
		"OK only after": {[]Measured{{100, Fail}, {200, OK}},
			Interval{FirstFail: n(100),
				Note: "no step below 100 was OK, so the capacity is below that; 200 was OK although 100 failed"}},
		"a gap": {[]Measured{{100, OK}, {200, Inconclusive}, {300, Fail}},
			Interval{LastOK: n(100), FirstFail: n(300), Inconclusive: []float64{200}, Note: "inconclusive at 200"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := IntervalOf(c.steps)
			assert.Contains(t, got.Note, c.want.Note)
			got.Note = c.want.Note
			assert.Equal(t, c.want, got)
		})
	}
}

func TestTheMachineThatLimits(t *testing.T) {
	big := []Component{{Name: "a", Parallelism: 4, CPUCoresEach: 10, CPUCoresTotal: Unknown, OnHeapMiB: 1000,
		OffHeapMiB: 0, TotalMemoryMiB: Unknown}}
	for name, c := range map[string]struct {
		machine  Machine
		machines int
		limiting string
		note     string
	}{
		"CPU":           {Machine{20, 8000}, 2, LimitedByCPU, ""},
		"memory":        {Machine{40, 1000}, 4, LimitedByMemory, ""},
		"no memory":     {Machine{20, Unknown}, 2, LimitedByCPU, "memory per machine is unknown"},
		"exactly":       {Machine{40, 4000}, 1, LimitedByCPU, ""},
		"one too large": {Machine{9, 8000}, 5, LimitedByCPU, "an instance of a cannot be placed"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := AnalyzeResources(big, nil, c.machine)
			require.NoError(t, err)
			assert.Equal(t, []any{c.machines, c.limiting}, []any{r.Machines, r.Limiting})
			if c.note == "" {
				assert.Empty(t, r.Notes)
			} else {
				assert.Contains(t, r.Notes[0], c.note)
			}
		})
	}
}

// Without a machine the table is still added up, but the number of machines is unknown.
func TestNothingIsKnownOfTheMachine(t *testing.T) {
	components := []Component{{Name: "a", Parallelism: 4, CPUCoresEach: 10, CPUCoresTotal: Unknown, OnHeapMiB: 1000,
		OffHeapMiB: 0, TotalMemoryMiB: Unknown}}
	r, err := AnalyzeResources(components, nil, UnknownMachine())
	require.NoError(t, err)
	assert.Equal(t, Totals{Parallelism: 4, CPUCores: 40, TotalMemoryMiB: 4000}, r.Totals)
	assert.Zero(t, r.Machines)
	assert.Empty(t, r.Limiting)
	assert.False(t, r.MachinesByCPU.Known() || r.MachinesByMemory.Known())
	assert.Empty(t, r.Notes)
	_, err = AnalyzeResources(components, nil, Machine{CPUCores: Unknown, MemoryMiB: 8000})
	require.ErrorContains(t, err, "the cores per machine must be a positive number")
}
