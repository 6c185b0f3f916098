//go:build stores || dashboards

package servertest

import (
	"bytes"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

// prometheus returns the program: Debian's with -short, otherwise the version of our library, which is built into
// build/tools.
func prometheus(t testing.TB) string {
	if testing.Short() {
		return fromDebian(t, "prometheus", "prometheus")
	}
	into, err := filepath.Abs(tools)
	require.NoError(t, err)
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "remove_all_sd", "-o",
		into+string(filepath.Separator),
		"github.com/prometheus/prometheus/cmd/prometheus")
	build.Dir = root + "/collector-go/tools/prometheus"
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return filepath.Join(into, "prometheus")
}

// Prometheus is a real one that takes remote write, and points out of order within a window.
func Prometheus(t testing.TB, window time.Duration) *Server {
	program := prometheus(t)
	return start(t, &Server{ready: "/-/ready", command: func(dir, address string) *exec.Cmd {
		file := filepath.Join(dir, "prometheus.yml")
		config := "storage: {tsdb: {out_of_order_time_window: " + model.Duration(window).String() + "}}\n"
		require.NoError(t, os.WriteFile(file, []byte(config), 0o666))
		return exec.Command(program, "--config.file", file, "--storage.tsdb.path", filepath.Join(dir, "data"),
			"--web.listen-address", address,
			"--storage.tsdb.retention.time", "100y", "--web.enable-remote-write-receiver", "--log.level", "error")
	}})
}

// readPrometheus gives back what remote read (https://prometheus.io/docs/specs/remote_read_spec/) has of the series
// with a label.
func readPrometheus(s *Server, label, value string) map[string][]storetest.Point {
	ask := prompb.ReadRequest{Queries: []*prompb.Query{{StartTimestampMs: 0, EndTimestampMs: math.MaxInt64 / 2,
		Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_EQ, Name: label, Value: value}}}}}
	body, err := ask.Marshal()
	require.NoError(s.t, err)
	request, err := http.NewRequest(http.MethodPost, s.URL()+"/api/v1/read", bytes.NewReader(snappy.Encode(nil, body)))
	require.NoError(s.t, err)
	raw, err := snappy.Decode(nil, s.do(request))
	require.NoError(s.t, err)
	var answer prompb.ReadResponse
	require.NoError(s.t, answer.Unmarshal(raw))
	all := map[string][]storetest.Point{}
	for _, series := range answer.Results[0].Timeseries {
		b := labels.NewScratchBuilder(len(series.Labels))
		key := labels.NewBuilder(series.ToLabels(&b, nil)).Del(place).Labels().String()
		for _, p := range series.Samples {
			all[key] = append(all[key], storetest.Number(p.Timestamp, p.Value))
		}
		for _, h := range series.Histograms {
			if h.IsFloatHistogram() {
				all[key] = append(all[key], storetest.Distribution(h.Timestamp, h.ToFloatHistogram()))
			} else {
				all[key] = append(all[key], storetest.Distribution(h.Timestamp, h.ToIntHistogram().ToFloat(nil)))
			}
		}
	}
	return all
}

// place is a label that distinguishes the tests that share a server; it is removed from what is read back.
const place = "place"
