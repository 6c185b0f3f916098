package tuning

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRatiosAsPeopleReadThem(t *testing.T) {
	assert.Equal(t, "40%", Percent(0.4))
	assert.Equal(t, "4.2%", Percent(0.042))
	assert.Equal(t, "–", Percent(Unknown))
	assert.Equal(t, "-26.1%", SignedPercent(-0.2613))
	assert.Equal(t, "+0.0%", SignedPercent(-0.0001))
	assert.Equal(t, "+1,320", SignedDigits(1320))
}

func TestCapacitiesInWords(t *testing.T) {
	low, high := 200.0, 1200.0
	assert.Equal(t, "holds 200, fails at 1,200", Interval{LastOK: &low, FirstFail: &high}.Text())
	assert.Equal(t, "at least 200", Interval{LastOK: &low, Censored: true}.Text())
	assert.Equal(t, "below 1,200", Interval{FirstFail: &high}.Text())
	assert.Equal(t, "unknown", Interval{}.Text())
	assert.Equal(t, "not measured", Interval{Note: "not measured"}.Text())
	assert.Equal(t, "unknown", Interval{Note: "a note that is too long for a cell"}.Text())
	assert.Equal(t, "at least 200 queries (the last step)", Interval{LastOK: &low, Note: "the last step"}.Of("queries"))
	assert.Equal(t, "unknown (not measured)", Interval{Note: "not measured"}.Of("queries"), "nothing that has a unit")
	assert.Equal(t, "unknown", Interval{}.Of("queries"))
}

func TestEstimatesInWords(t *testing.T) {
	e := Estimate{Value: 12.4, Low: 11.8, High: 13.1}
	assert.Equal(t, "12.4 ms (95%: 11.8 to 13.1)", e.Text(0.95, "ms"))
	// No digit is smaller than the uncertainty: two digits of half the interval are kept.
	wide := Estimate{Value: 462.4, Low: 269.6, High: 655.2}
	assert.Equal(t, "460 ms (95%: 270 to 660)", wide.Text(0.95, "ms"))
	assert.Equal(t, "0.0077 (95%: 0.0066 to 0.0087)", Estimate{Value: 0.007667, Low: 0.006606,
		High: 0.008727}.Text(0.95, ""))
	assert.Equal(t, "1,004,500 (95%: 1,004,500 to 1,004,500)", Estimate{Value: 1_004_500, Low: 1_004_500,
		High: 1_004_500}.Text(0.95, ""))
	e.Low, e.Note = Unknown, "too few points"
	assert.Equal(t, "12.4 (too few points)", e.Text(0.95, ""))
	assert.Equal(t, "unknown: too few points", Estimate{Value: Unknown, Note: "too few points"}.Text(0.95, "ms"))
	assert.Equal(t, "unknown", Between(Unknown, 3))
}

func TestTwoDigits(t *testing.T) {
	for v, want := range map[Figure]string{1369: "1,400", 0.0234: "0.023", 99.6: "100", 0: "0", 7: "7",
		-0.0456: "-0.046", 12: "12", 0.1: "0.1", Unknown: "–"} {
		assert.Equal(t, want, TwoDigits(v))
	}
}
