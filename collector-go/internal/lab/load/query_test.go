package load

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBQL(t *testing.T) {
	assert.Equal(t, "SELECT * FROM STREAM(30000, TIME) WHERE probe = 'probe-7' LIMIT 10",
		DefaultRawQuery().BQL(ProbeValue(7)))
}

func TestQueryValidate(t *testing.T) {
	require.NoError(t, DefaultRawQuery().Validate())
	assert.Error(t, RawQuery{Limit: 0, Duration: time.Second}.Validate())
	assert.Error(t, RawQuery{Limit: 1, Duration: time.Millisecond}.Validate())
	assert.Error(t, RawQuery{Limit: 1, Duration: time.Second, PerSecond: -1}.Validate())
}

// The slow twin iterates over the records of the source's definition, one by one.
func TestGeneratedCountsWhatTheSourceMakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		query := RawQuery{PerSecond: rapid.SampledFrom([]float64{0.5, 1, 2.5, 10}).Draw(t, "rate")}
		from := rapid.Int64Range(0, 20_000_000).Draw(t, "from")
		to := from + rapid.Int64Range(0, 30_000_000).Draw(t, "length")
		want := 0
		for k := int64(0); float64(k)*1e6/query.PerSecond <= float64(to); k++ {
			if float64(k)*1e6/query.PerSecond > float64(from) {
				want++
			}
		}
		assert.Equal(t, want, generated(query.PerSecond, time.UnixMicro(from), time.UnixMicro(to)))
	})
}

// answerOf returns an answer with these records.
func answerOf[T any](t *testing.T, records ...T) (answer Answer) {
	for _, record := range records {
		text, err := json.Marshal(record)
		require.NoError(t, err)
		answer.Records = append(answer.Records, text)
	}
	return answer
}

// If fewer records were made than the limit, a single missing record among many shows.
func TestEachRecordMustBeThereBelowTheLimit(t *testing.T) {
	query := RawQuery{Limit: 500, Duration: 10 * time.Second, PerSecond: 10}
	var records []Record
	for k := int64(1001); k <= 1100; k++ {
		if k != 1050 && k != 1003 { // record 1003 is made within a second of the query's start
			records = append(records, Record{"p", k})
		}
	}
	check, err := query.Check(answerOf(t, records...), "p", time.Unix(100, 0), time.Unix(113, 0))
	require.NoError(t, err)
	assert.Equal(t, Check{Records: 98, Expected: 80, Missing: 1}, check)
}

func TestCheck(t *testing.T) {
	records := func(probe string, sequences ...int64) (answer []Record) {
		for _, s := range sequences {
			answer = append(answer, Record{probe, 101 + s}) // record 101 is made a second after the submission
		}
		return answer
	}
	query := RawQuery{Limit: 5, Duration: 30 * time.Second, PerSecond: 1}
	for name, c := range map[string]struct {
		records                    []Record
		life                       time.Duration
		missing, repeated, foreign int
	}{
		"complete":                     {records("p", 1, 2, 3, 4, 5), 5 * time.Second, 0, 0, 0},
		"in another order":             {records("p", 3, 1, 2, 5, 4), 5 * time.Second, 0, 0, 0},
		"not the first five":           {records("p", 1, 2, 4, 5, 7), 9 * time.Second, 0, 0, 0},
		"a record twice is one record": {records("p", 1, 2, 2, 3, 4), 7 * time.Second, 1, 1, 0},
		"fewer than were made":         {records("p", 1, 2), 30 * time.Second, 3, 0, 0},
		"none of those that were made": {nil, 30 * time.Second, 5, 0, 0},
		"a short life needs no record": {nil, 2 * time.Second, 0, 0, 0},
		"a stranger":                   {append(records("p", 1, 2, 3, 4), Record{"q", 9}), 5 * time.Second, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			check, err := query.Check(answerOf(t, c.records...), "p", time.Unix(100, 0), time.Unix(100, 0).Add(c.life))
			require.NoError(t, err)
			assert.Equal(t, []int{c.missing, c.repeated, c.foreign},
				[]int{check.Missing, check.Repeated, check.Foreign}, "missing, repeated, foreign")
			assert.Equal(t, len(c.records), check.Records)
		})
	}
}
