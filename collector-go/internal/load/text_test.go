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
	check, err := q.Check(Answer{Records: []json.RawMessage{[]byte("{}"), []byte("{}")}}, "probe-3", time.Time{}, time.Now())
	require.NoError(t, err)
	assert.Equal(t, Check{Records: 2}, check)
	_, err = NewQuery(Raw, Parameters{Text: " "})
	assert.ErrorContains(t, err, "a query must have a text")
}
