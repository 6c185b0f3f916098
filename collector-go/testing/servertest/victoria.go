//go:build stores

package servertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

// victoria is a real VictoriaMetrics.
func victoria(t testing.TB) *Server {
	program := fromDebian(t, "victoria-metrics", "victoria-metrics")
	return start(t, &Server{ready: "/health", command: func(dir, address string) *exec.Cmd {
		return exec.Command(program, "-storageDataPath", filepath.Join(dir, "data"), "-httpListenAddr", address,
			"-retentionPeriod", "100y",
			// what docs/stores/victoriametrics.md asks for
			"-memory.allowedBytes", "256MB", "-dedup.minScrapeInterval", "1ms",
			"-loggerLevel", "ERROR")
	}})
}

// readVictoria gives back what VictoriaMetrics exports of the series with a label, rounded to what it keeps of a float.
func readVictoria(s *Server, label, with string) map[string][]storetest.Point {
	s.get("/internal/force_flush")
	query := url.Values{"match[]": {fmt.Sprintf("{%s=%q}", label, with)}, "start": {"0"}, "reduce_mem_usage": {"0"}}
	all := map[string][]storetest.Point{}
	lines := bufio.NewScanner(bytes.NewReader(s.get("/api/v1/export?" + query.Encode())))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var series struct {
			Metric     map[string]string
			Values     []any
			Timestamps []int64
		}
		require.NoError(s.t, json.Unmarshal(noNumber.ReplaceAll(lines.Bytes(), []byte(`$1"$2"`)), &series))
		key := labels.NewBuilder(labels.FromMap(series.Metric)).Del(place).Labels().String()
		for i, v := range series.Values {
			all[key] = append(all[key], storetest.Number(series.Timestamps[i], rounded(exported(s.t, v))))
		}
	}
	require.NoError(s.t, lines.Err())
	return all
}

// noNumber is what VictoriaMetrics writes where JSON has no number.
var noNumber = regexp.MustCompile(`([\[,])([+-]Inf)`)

// exported is a number as VictoriaMetrics writes it: null for NaN, and signed for an infinity.
func exported(t testing.TB, v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case nil:
		return math.Float64frombits(value.StaleNaN)
	case string:
		f, err := strconv.ParseFloat(v, 64)
		require.NoError(t, err)
		return f
	}
	require.FailNow(t, "not a number", "%v", v)
	return 0
}

// rounded is what VictoriaMetrics keeps of a float, which it turns into a decimal: 15 digits.
func rounded(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 12, 64), 64)
	return r + 0 // no negative zero
}
