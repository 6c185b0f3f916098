package load

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever a query endpoint answers, each class of query judges it or states what is wrong.
func FuzzAnswers(f *testing.F) {
	record := `{"records":[{"probe":"p","count":"1","COUNT DISTINCT":2.5,"min":"NaN"}],"meta":{}}`
	java := javaHeader + "\x74\x00\x02{}"
	f.Add([]byte(record))
	f.Add([]byte(`{"id":"a","content":"{}","metadata":{"signal":"FAIL"}}`))
	f.Add([]byte(`{"content":"` + base64.StdEncoding.EncodeToString([]byte(java)) + `"}`))
	f.Add([]byte(`{"content":"` +
		base64.StdEncoding.EncodeToString([]byte(javaHeader+"\x7c\xff\xff\xff\xff\xff\xff\xff\xff{}")) + `"}`))
	f.Add([]byte(strings.Repeat(`{"records":[`, 20_000)))
	at := time.UnixMilli(1_700_000_000_000)
	f.Fuzz(func(t *testing.T, text []byte) {
		answer, err := drpcAnswer(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			require.Less(t, len(err.Error()), 8<<10, "an error does not carry the whole answer")
			return
		}
		size := len(answer.Meta)
		for _, record := range answer.Records {
			size += len(record)
		}
		require.LessOrEqual(t, size, len(text))
		for _, query := range []Query{RawQuery{}, GroupByQuery{}, CountDistinctQuery{}, DistributionQuery{},
			TopKQuery{}, TextQuery{}} {
			_, _ = query.Check(answer, "p", at, at.Add(time.Second))
		}
	})
}
