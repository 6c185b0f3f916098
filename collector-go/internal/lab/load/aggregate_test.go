package load

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// engineAnswers returns answers of bullet-core 1.5.2's own Querier, with two filters and a join, by the text of the
// query. The probe had the 100 records 1000 to 1099, or none.
func engineAnswers(t *testing.T) map[string]struct{ Hundred, None Answer } {
	text, err := os.ReadFile("testdata/engine-answers.json")
	require.NoError(t, err)
	var answers map[string]struct{ Hundred, None Answer }
	require.NoError(t, json.Unmarshal(text, &answers))
	return answers
}

// queries returns queries of all classes for a probe of 10 records/s, with a duration of 10 s.
func queries(t *testing.T) (all []Query) {
	for _, class := range Classes() {
		query, err := NewQuery(class, Parameters{Duration: 10 * time.Second, PerSecond: 10})
		require.NoError(t, err)
		all = append(all, query)
	}
	return all
}

func TestAnswersOfTheEngineAreReadAndJudged(t *testing.T) {
	answers := engineAnswers(t)
	// Record 1000 is made at 100 s. The records of (101 s, 109 s] must be in the answer: 80.
	submitted, finished := time.Unix(100, 0).Add(-50*time.Millisecond), time.Unix(110, 0)
	for _, query := range queries(t) {
		t.Run(string(query.Class()), func(t *testing.T) {
			bql := query.BQL("p")
			answer, there := answers[bql]
			require.True(t, there, "no answer of the engine to %s: see testdata/README.md", bql)
			check, err := query.Check(answer.Hundred, "p", submitted, finished)
			require.NoError(t, err)
			assert.Zero(t, check.Missing+check.Repeated+check.Foreign, "%+v", check)
			assert.Positive(t, check.Expected)
			check, err = query.Check(answer.None, "p", submitted, finished)
			require.NoError(t, err)
			assert.Equal(t, check.Expected, check.Missing, "%+v", check)
			assert.Positive(t, check.Expected)
			// If twice as many records had been made, the missing ones would show, except for RAW, which reaches its
			// limit.
			twice, err := NewQuery(query.Class(), Parameters{Duration: 10 * time.Second, PerSecond: 20})
			require.NoError(t, err)
			check, err = twice.Check(answer.Hundred, "p", submitted, finished)
			require.NoError(t, err)
			if query.Class() != Raw {
				assert.GreaterOrEqual(t, check.Missing, 20, "%+v", check)
			}
		})
	}
}

func TestAGroupsHolesShowToTheRecord(t *testing.T) {
	query := GroupByQuery{Groups: 2, Aggregate: Aggregate{Duration: 10 * time.Second, PerSecond: 10}}
	answer := answerOf(t, json.RawMessage(`{"part":"0","count":45,"first":1000.0,"last":1098.0}`),
		json.RawMessage(`{"part":"1","count":50,"first":1001.0,"last":1099.0}`))
	check, err := query.Check(answer, "p", time.Unix(100, 0), time.Unix(110, 0))
	require.NoError(t, err)
	assert.Equal(t, Check{Records: 95, Expected: 80, Missing: 5}, check,
		"five holes in one group, which the other does not fill")

	answer = answerOf(t, json.RawMessage(`{"part":"0","count":20,"first":1000.0,"last":1038.0}`),
		json.RawMessage(`{"part":"1","count":50,"first":1001.0,"last":1099.0}`))
	check, err = query.Check(answer, "p", time.Unix(100, 0), time.Unix(110, 0))
	require.NoError(t, err)
	assert.Equal(t, 26, check.Missing, "1040 to 1090 of those due, the even ones")
}

func TestEstimatesAreCheckedAgainstTheirBounds(t *testing.T) {
	query := CountDistinctQuery{Aggregate{Duration: 10 * time.Second, PerSecond: 10}}
	for count, want := range map[string]int{
		`{"records":[{"count":70}],"meta":{"Sketch":{"Standard Deviations":{"3":{"lowerBound":60.5,"upperBound":81.5}}}}}`: 0,
		`{"records":[{"count":70}],"meta":{"Sketch":{"Standard Deviations":{"3":{"lowerBound":65.0,"upperBound":75.0}}}}}`: 5,
		`{"records":[{"count":70}],"meta":{}}`: 10,
	} {
		var answer Answer
		require.NoError(t, json.Unmarshal([]byte(count), &answer))
		check, err := query.Check(answer, "p", time.Unix(100, 0), time.Unix(110, 0))
		require.NoError(t, err)
		assert.Equal(t, Check{Records: 70, Expected: 80, Missing: want}, check)
	}
}

func TestAQueryIsCheckedAgainstTheRecordsSinceItArrived(t *testing.T) {
	submitted, finished := time.UnixMilli(10_000), time.UnixMilli(20_000)
	for meta, want := range map[string]int64{
		`{"Query":{"Receive Time":13000}}`: 13_000,
		`{"Query":{"Receive Time":9000}}`:  10_000,
		`{"Query":{"Receive Time":21000}}`: 10_000,
		`{}`:                               10_000,
		``:                                 10_000,
	} {
		assert.Equal(t, want, arrived(Answer{Meta: json.RawMessage(meta)}, submitted, finished).UnixMilli(), meta)
	}
}

func TestTopKNamesTheFrequentOnes(t *testing.T) {
	query := TopKQuery{K: 3, Aggregate: Aggregate{Duration: 100 * time.Second, PerSecond: 10}}
	answer := answerOf(t, json.RawMessage(`{"part":"0","count":250}`), json.RawMessage(`{"part":"1","count":250}`),
		json.RawMessage(`{"part":"3","count":125}`))
	check, err := query.Check(answer, "p", time.Unix(1000, 0), time.Unix(1100, 0))
	require.NoError(t, err)
	assert.Equal(t, 125, check.Foreign)
	assert.Zero(t, check.Missing)
}

func TestResiduesAreThoseOfTheSlowTwin(t *testing.T) {
	for first := range int64(20) {
		for last := first - 1; last < 40; last++ {
			for remainder := range int64(7) {
				want := 0
				for n := first; n <= last; n++ {
					if n%7 == remainder {
						want++
					}
				}
				require.Equal(t, want, span{first, last}.residues(7, remainder), "%d to %d, %d", first, last, remainder)
			}
		}
	}
}

func TestAnswersThatAreNoneOfTheClass(t *testing.T) {
	for class, answer := range map[Class]string{
		Raw: `{"probe":7}`, GroupBy: `{"count":1}`, CountDistinct: `{"x":1}`, Distribution: `{"Count":"many"}`,
		TopK: `{"count":1}`,
	} {
		query, err := NewQuery(class, Parameters{})
		require.NoError(t, err)
		_, err = query.Check(Answer{Records: []json.RawMessage{json.RawMessage(answer)}}, "p", time.Unix(0, 0),
			time.Unix(10, 0))
		assert.Error(t, err, class)
	}
}

func TestClasses(t *testing.T) {
	for text, want := range map[string]Class{"RAW": Raw, "top-k": TopK, "count_distinct": CountDistinct} {
		class, err := ParseClass(text)
		require.NoError(t, err)
		assert.Equal(t, want, class)
	}
	_, err := ParseClass("median")
	assert.EqualError(t, err,
		`unknown query class "median"; known classes: raw, group, count_distinct, distribution, top_k`)
	for _, class := range Classes() {
		_, err := NewQuery(class, Parameters{Limit: -1, Duration: time.Millisecond})
		assert.Error(t, err, class)
	}
}
