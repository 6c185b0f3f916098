package hosts

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// page returns the page that documents the lines.
func page(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("../../../../../docs/formats/load-client.md")
	require.NoError(tb, err)
	return string(text)
}

// Whatever a client writes or receives is accepted or refused without a panic.
func FuzzLines(f *testing.F) {
	for line := range bytes.Lines([]byte(page(f))) {
		if line[0] == '{' {
			f.Add(line)
		}
	}
	f.Add([]byte(`{"count":{"id":0}}` + "\n" + `{"end":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		outcomes := 0
		h := newHost("a", &Connection{Answers: bytes.NewReader(text), Orders: nopCloser{io.Discard},
			Wait: func() error { return nil }, Kill: func() {}})
		h.report, h.fail = func(load.Outcome) { outcomes++ }, func(error) {}
		h.expect(ofBegin)
		h.expect(ofCount)
		h.read()
		require.Error(t, h.err, "nobody ordered its end")
		require.Equal(t, outcomes, h.sent)
		_ = eachLine(bytes.NewReader(text), func(o order) error {
			if o.Begin != nil && o.Begin.validate() == nil {
				_, err := o.Begin.query()
				return err
			}
			if o.Open != nil {
				return o.Open.options().Validate()
			}
			return nil
		})
	})
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
