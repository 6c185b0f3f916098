package load

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSomebodysOwnBQL(t *testing.T) {
	const text = "SELECT * FROM STREAM(20000, TIME) WHERE country = 'x' LIMIT 5"
	q, err := NewQuery(Raw, Parameters{Text: text, Duration: 20 * time.Second, Limit: 3, PerSecond: 7})
	require.NoError(t, err)
	assert.Equal(t, text, q.BQL("probe-3"))
	assert.Equal(t, 20*time.Second, q.Life())
	assert.Zero(t, q.ProbeRate(), "nobody makes records for it")
	check, err := q.Check(Answer{Records: []json.RawMessage{[]byte("{}"), []byte("{}")}}, "probe-3",
		time.Time{}, time.Now())
	require.NoError(t, err)
	assert.Equal(t, Check{Records: 2}, check, "nothing is expected, and nothing judged")
	_, err = NewQuery(Raw, Parameters{Text: " "})
	assert.ErrorContains(t, err, "the text of a query is empty")
}

func TestWhatIsExpectedOfAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		expect  Expectation
		records []string
		want    Check
	}{
		"enough": {Expectation{Records: 2}, []string{`{"a":1}`, `{"b":1}`, `{}`},
			Check{Records: 3, Expected: 2}},
		"too few": {Expectation{Records: 3}, []string{`{"a":1}`},
			Check{Records: 1, Expected: 3, Missing: 2}},
		"none": {Expectation{Records: 1, Fields: []string{"a"}}, nil,
			Check{Expected: 1, Missing: 1}},
		"a field": {Expectation{Fields: []string{"a"}}, []string{`{"a":0}`, `{"a":""}`},
			Check{Records: 2, Expected: 2}},
		"null is none": {Expectation{Fields: []string{"a"}}, []string{`{"a":null}`, `{"a":1}`},
			Check{Records: 2, Expected: 2, Missing: 1, Foreign: 1}},
		"fields, of as many": {Expectation{Records: 2, Fields: []string{"a"}},
			[]string{`{"a":1}`, `{"b":1}`}, Check{Records: 2, Expected: 2, Missing: 1, Foreign: 1}},
		"a field in a field": {Expectation{Fields: []string{"a.b"}},
			[]string{`{"a":{"b":1}}`, `{"a.b":1}`, `{"a":1}`}, Check{Records: 3, Expected: 3, Missing: 1, Foreign: 1}},
		"no record at all is no answer": {Expectation{Fields: []string{"a"}}, []string{`[1]`},
			Check{Records: 1, Expected: 1, Missing: 1, Foreign: 1}},
	} {
		var answer Answer
		for _, r := range c.records {
			answer.Records = append(answer.Records, json.RawMessage(r))
		}
		check, err := TextQuery{Of: Own, Expect: c.expect}.Check(answer, "", time.Time{}, time.Now())
		require.NoError(t, err, name)
		assert.Equal(t, c.want, check, name)
	}
	_, err := TextQuery{}.Check(Answer{Records: []json.RawMessage{[]byte("{")}}, "", time.Time{}, time.Now())
	assert.ErrorContains(t, err, "record 1 of the answer")
	assert.ErrorContains(t, TextQuery{Text: "x", Duration: time.Second, Expect: Expectation{Records: -1}}.Validate(),
		"must not be negative")
}

func TestHowLongAQueryLives(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"SELECT * FROM STREAM(20000, TIME) LIMIT 1": 20 * time.Second,
		"select * from stream ( 500 ,time)":         500 * time.Millisecond,
		"SELECT * FROM STREAM()":                    time.Minute, "SELECT * FROM STREAM(10, RECORD)": time.Minute,
		"": time.Minute,
	} {
		assert.Equal(t, want, LifeOf(text, time.Minute), text)
	}
}
