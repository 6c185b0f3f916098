package examine

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
)

// Whatever a settings file contains, it is read or refused with its name.
func FuzzSettings(f *testing.F) {
	f.Add([]byte("topology.metrics.consumer.register:\n- class: a\n  parallelism.hint: 1\n  argument: {b: [c]}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n"))
	f.Add([]byte(strings.Repeat("[", 20_000)))
	f.Add([]byte(strings.Repeat("- ", 20_000)))
	path := filepath.Join(f.TempDir(), "storm.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(path, text, 0o644))
		if s := Settings(path); s.Err != nil {
			require.ErrorContains(t, s.Err, path)
		}
	})
}

// answers is a server that answers every path with the same text.
type answers string

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// Whatever server listens at the collector's address, the result is a fact or an error.
func FuzzCollectorsAnswers(f *testing.F) {
	f.Add(`{"data":[{"name":"t"}]}`)
	f.Add(`{"data":{"result":[{"metric":{"worker":"h:1"},"value":[1e308,"NaN"],"values":[[1,"2"]]}]}}`)
	f.Add(strings.Repeat(`{"data":`, 20_000))
	f.Add(`{}`)
	now := time.UnixMilli(1_700_000_000_000)
	f.Fuzz(func(t *testing.T, text string) {
		asked, err := client.By("http://collector", &http.Client{Transport: answers(text)})
		require.NoError(t, err)
		c := Collector(t.Context(), asked, "t", now)
		require.Equal(t, "t", c.Topology)
		a := caller{asked}
		_, _ = a.newestSlices(t.Context(), c), a.skews(t.Context(), c, new(topology))
		var one topology
		if asked.Get(t.Context(), "/", &one) == nil {
			require.NotNil(t, one.facts())
		}
	})
}
