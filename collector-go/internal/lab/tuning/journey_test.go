package tuning

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documentDelays returns the mean delays of a test of the document, in ms relative to Query Received.
func documentDelays(t *testing.T, file string) map[string]float64 {
	t.Helper()
	f, err := os.Open("../csvtable/testdata/document/" + file)
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	delays := map[string]float64{}
	for _, row := range rows[1:] {
		delays[row[0]], err = strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
	}
	return delays
}

// around returns queries whose delays alternate around the means, so that their means are the given ones.
func around(means map[string]float64, n int, ms float64) (all []Trace) {
	for i := range n {
		j := Trace{Query: i + 1, AtMs: map[string]float64{}}
		for stage, mean := range means {
			j.AtMs[stage] = 1.7952e12 + float64(1000*i) + mean
			if stage != QueryReceived {
				j.AtMs[stage] += ms * float64(1-2*(i%2))
			}
		}
		all = append(all, j)
	}
	return all
}

func stage(t *testing.T, of Timeline, name string) Stage {
	t.Helper()
	for _, s := range of.Stages {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no stage %s", name)
	return Stage{}
}

// Test 1 of the document: the records are there already, and Bullet adds 1.66 ms.
func TestTheTimelineOfTest1(t *testing.T) {
	means := documentDelays(t, "latency-test1.csv")
	got := TimelineOf(around(means, 100, 0.5), 100, false, nil)
	assert.Equal(t, 100, got.Returned)
	for name, mean := range means {
		s := stage(t, got, name)
		assert.Equal(t, 100, s.Count, name)
		assert.InDelta(t, mean, float64(s.MeanMs), 1e-3, name)
		if name != QueryReceived {
			assert.InDelta(t, 0.5*math.Sqrt(100.0/99), float64(s.DeviationMs), 1e-3, name)
			assert.InDelta(t, mean-0.5, float64(s.LeastMs), 1e-3, name)
			assert.InDelta(t, mean+0.5, float64(s.P95Ms), 1e-3, name)
		}
	}
	assert.Zero(t, stage(t, got, BulletReceived).Count, "the document's Test 1 does not have it")
	assert.False(t, stage(t, got, BulletReceived).MeanMs.Known())
	assert.InDelta(t, 1.66, float64(got.AddedDelay.Value), 1e-3, "the filter bolt was first, so from Query Received")
	assert.Less(t, got.AddedDelay.Low, got.AddedDelay.Value)
	assert.False(t, got.FindTime.Value.Known(), "nothing was generated")
}

// Test 2 of the document: the record is made while the query runs, and is found 10.3 ms after Bullet received it.
func TestTheTimelineOfTest2(t *testing.T) {
	got := TimelineOf(around(documentDelays(t, "latency-test2.csv"), 100, 0), 101, true, nil)
	assert.InDelta(t, 10.3, float64(got.FindTime.Value), 1e-3)
	assert.InDelta(t, 3.5, float64(got.AddedDelay.Value), 1e-3,
		"from Bullet Filtered, which is after Query Received here")
	assert.InDelta(t, 445.7, float64(stage(t, got, KafkaReceived).MeanMs), 1e-3)
	assert.Contains(t, got.Notes, "1 of 101 queries returned without a record. They do not count in the delays.")
	_, err := json.Marshal(got)
	require.NoError(t, err)
}

func TestATimelineOfNothing(t *testing.T) {
	got := TimelineOf(nil, 100, true, nil)
	assert.False(t, got.AddedDelay.Value.Known())
	assert.Contains(t, got.AddedDelay.Note, "no query found a record")
	text, err := json.Marshal(got)
	require.NoError(t, err)
	var again Timeline
	require.NoError(t, json.Unmarshal(text, &again))
	assert.Len(t, again.Stages, len(Stages))
}

// Every clock's true skew lies within its bounds, and the bounds are no wider than the fastest round trip.
func TestSkewIsBoundedByCauseAndEffect(t *testing.T) {
	clocks := map[string]string{RecordMade: "client", KafkaReceived: "broker", BulletReceived: "source",
		BulletFiltered: "filter", QuerySubmitted: "client",
		QueryReceived: "join", QueryFinished: "join", QueryReturned: "client"}
	ahead := map[string]float64{"broker": 40, "source": -25, "filter": 7, "join": -3000}
	true2 := map[string]float64{QuerySubmitted: 0, QueryReceived: 20, RecordMade: 500, KafkaReceived: 510,
		BulletReceived: 520, BulletFiltered: 525, QueryFinished: 530, QueryReturned: 540}
	var traces []Trace
	for i := range 20 {
		j := Trace{AtMs: map[string]float64{}}
		for s, at := range true2 {
			j.AtMs[s] = math.Floor(1e12 + at*(1+float64(i)/10) + ahead[clocks[s]])
		}
		traces = append(traces, j)
	}
	got := TimelineOf(traces, 20, true, clocks)
	bounds := map[string]Skew{}
	for _, s := range got.Skews {
		if s.From == "client" {
			bounds[s.To] = s
		}
	}
	require.Len(t, bounds, 4)
	for clock, skew := range ahead {
		assert.LessOrEqual(t, float64(bounds[clock].LeastMs), skew, clock)
		assert.GreaterOrEqual(t, float64(bounds[clock].MostMs), skew, clock)
		assert.LessOrEqual(t, float64(bounds[clock].MostMs-bounds[clock].LeastMs), 50.0, clock)
		assert.True(t, bounds[clock].Excludes0() || clock == "filter", clock)
	}
	assert.InDelta(t, (500-20)*1.95+3000, float64(stage(t, got, RecordMade).MeanMs), 1,
		"delays are as stamped, the skew of the join bolt's clock in them")

	// The clock of a maker without further stages has a bound on one side only.
	clocks[RecordMade] = "maker"
	for _, s := range TimelineOf(traces, 20, true, clocks).Skews {
		if s.From == "client" && s.To == "broker" {
			assert.False(t, s.MostMs.Known())
			assert.True(t, s.LeastMs.Known())
		}
	}
}

// A stamp that is truncated to a whole millisecond looks up to 1 ms too early, which is not a skew.
func TestStampsThatAreCutOffAreNoSkew(t *testing.T) {
	j := Trace{AtMs: map[string]float64{QuerySubmitted: 10.9, QueryReceived: 10, QueryFinished: 12,
		QueryReturned: 12.95}}
	got := TimelineOf([]Trace{j}, 1, false, map[string]string{QuerySubmitted: "client", QueryReturned: "client",
		QueryReceived: "join", QueryFinished: "join"})
	require.Len(t, got.Skews, 1)
	assert.False(t, got.Skews[0].Excludes0(), "received 10.95, as 10")
	assert.InDelta(t, 0.1, float64(got.Skews[0].MostMs), 1e-9)
	assert.InDelta(t, -1.95, float64(got.Skews[0].LeastMs), 1e-9)
}
