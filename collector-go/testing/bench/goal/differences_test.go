package goal

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAValueHasChangedWhereItsRangesAreApart(t *testing.T) {
	var all Pieces
	put := func(subject string, round int, cores, peak float64) {
		all = all.Put(Piece{Scenario: Traffic, Subject: subject, Round: round,
			Values: map[string]float64{"cores": cores, "peak": peak}})
	}
	put(Base, 1, 1.0, 100)
	put(Base, 2, 1.2, 130)
	put(Ours, 1, 0.8, 120)
	put(Ours, 2, 0.9, 90)
	all = all.Put(Piece{Scenario: Paced, Subject: Ours, Round: 1, Values: map[string]float64{"cores": 1}})
	got := all.Differences()
	require.Len(t, got, 2, "the base has no paced")
	assert.True(t, got[0].Apart(), "cores: 0.8 to 0.9, and 1.0 to 1.2")
	assert.InDelta(t, 0.85/1.1, got[0].Change(), 1e-9)
	assert.False(t, got[1].Apart(), "peak: 90 to 120, and 100 to 130")
	var out bytes.Buffer
	require.NoError(t, PrintDifferences(&out, got))
	assert.Contains(t, out.String(), "1.10 (1.00 to 1.20)")
	assert.False(t, Difference{Base: Figure{Value: 1, Least: 1, Most: 1, Rounds: 1},
		Ours: Figure{Value: 2, Least: 2, Most: 2, Rounds: 1}}.Apart(), "one round has no range")
}
