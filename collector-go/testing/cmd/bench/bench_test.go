package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// Whatever a goal is judged by is measured by some scenario, which names that goal; and all scenarios are for a goal.
func TestEveryGoalHasItsScenarios(t *testing.T) {
	for _, quick := range []bool{false, true} {
		s := &session{quick: quick, scale: 1, seed: 1}
		var all goal.Pieces
		goals, names := map[int]bool{}, map[string]bool{}
		for _, sc := range s.scenarios() {
			assert.False(t, names[sc.name], "%s is there twice", sc.name)
			assert.NotEmpty(t, sc.scale, sc.name)
			names[sc.name] = true
			for _, g := range sc.goals {
				goals[g] = true
			}
			assert.Equal(t, goal.Ours, sc.subjects[0].name, sc.name)
			for _, sub := range sc.subjects {
				all = all.Put(goal.Piece{Scenario: sc.name, Subject: sub.name, Round: 1,
					Values: map[string]float64{"": 1}})
			}
		}
		assert.Len(t, goals, 10)
		for _, g := range goal.Judge(all) {
			for _, m := range g.Missing {
				assert.NotContains(t, m, "was not measured", "goal %d", g.ID)
			}
		}
	}
}

func TestScenariosAreChosenByNameOrGoal(t *testing.T) {
	all := (&session{scale: 1}).scenarios()
	names := func(wanted ...string) string {
		chosen, err := choose(all, wanted)
		require.NoError(t, err)
		var out []string
		for _, sc := range chosen {
			out = append(out, sc.name)
		}
		return strings.Join(out, " ")
	}
	assert.Equal(t, "sustained-1s sustained-10s", names("3"))
	assert.Equal(t, "own-slice paced", names("7", "own-slice"))
	chosen, err := choose(all, nil)
	require.NoError(t, err)
	assert.Len(t, chosen, len(all))
	_, err = choose(all, []string{"own-slice", "11"})
	assert.ErrorContains(t, err, `"11"`)
}

func TestTheHooksCostIsRead(t *testing.T) {
	got, err := hooked("| a tuple executed | ns |\n|---|---|---|\n| ours in another bolt | 8.7 (8.5 to 9.0) | 0.6 |\n" +
		"| ours in FilterBolt | 51.4 (50.0 to 53.0) | 43.3 |\n")
	require.NoError(t, err)
	assert.Equal(t, 43.3, got)
	_, err = hooked("| ours in FilterBolt |\n")
	assert.ErrorContains(t, err, "no row")
}

func TestAnotherBuildTakesThePeersPlace(t *testing.T) {
	s := &session{scale: 1, base: "other"}
	both, err := s.besideBase(s.scenarios())
	require.NoError(t, err)
	assert.Len(t, both, len(s.scenarios())-1, "the plugin is in neither build")
	for _, sc := range both {
		require.Len(t, sc.subjects, 2, sc.name)
		assert.Equal(t, []string{goal.Base, goal.Ours}, []string{sc.subjects[0].name, sc.subjects[1].name})
	}
}

func TestRoundsBeginByTurns(t *testing.T) {
	all := []subject{{name: "a"}, {name: "b"}}
	assert.Equal(t, "a", inTurn(all, 1)[0].name)
	assert.Equal(t, "b", inTurn(all, 2)[0].name)
	assert.Equal(t, "a", all[0].name, "what was given is as it was")
}

func TestJMHsResultIsRead(t *testing.T) {
	got, err := consumed(
		[]byte(`[{"secondaryMetrics":{"ticks":{"score":2},"allCpuNs":{"score":6000},"allBytes":{"score":8000},"cpuNs":{"score":4000},"bytes":{"score":2000},"calls":{"score":260}}}]`))
	require.NoError(t, err)
	assert.Equal(t, figures{"cpu_us_per_tick": 30, "allocated_kb_per_tick": 40, "caller_cpu_us_per_tick": 20,
		"caller_cpu_us_per_call": 4. / 260, "caller_allocated_kb_per_tick": 10, "calls_per_tick": 1300}, got)
	for _, wrong := range []string{`[]`, `[{}]`, `{`} {
		_, err := consumed([]byte(wrong))
		assert.Error(t, err, wrong)
	}
}

// The changes of TSBS rows are whole numbers with a standard deviation of 1, whose entropy is 2 bits.
func TestTheFloorOfBytesIsTheEntropy(t *testing.T) {
	least := shape{hosts: 5, metrics: 10, steps: 2400, step: 10 * time.Second}.entropy(1)
	assert.InDelta(t, 2.0/8, least["disk_bytes_per_sample"], 0.03)
	assert.Equal(t, least["disk_bytes_per_sample"], least["data_bytes_per_sample"])
}
