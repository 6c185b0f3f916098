package peer

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// prometheus is Prometheus with its remote write receiver.
type prometheus struct {
	program string
	process *bench.Process
}

func newPrometheus(tools string) (Peer, error) {
	path, err := program(tools, "prometheus")
	return &prometheus{program: path}, err
}

// Start implements Peer.
func (p *prometheus) Start(ctx context.Context, dir string) (*bench.Process, error) {
	address, err := bench.FreeAddress()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte("global: {}\n"), 0o640); err != nil {
		return nil, err
	}
	p.process, err = bench.Start(ctx, p.program, []string{"--config.file", file, "--storage.tsdb.path",
		filepath.Join(dir, "data"), "--web.listen-address", address,
		"--storage.tsdb.retention.time", "100y", "--web.enable-remote-write-receiver", "--log.level", "error"},
		"http://"+address, "/-/ready", filepath.Join(dir, "log"))
	return p.process, err
}

// Count implements Peer.
func (p *prometheus) Count(ctx context.Context, metric int, of Span) (values, sum float64, err error) {
	return countByPromQL(ctx, p.process, metric, of)
}

// Sender implements Peer.
func (p *prometheus) Sender() (Sender, error) {
	if p.process == nil {
		return nil, errEnded
	}
	return &remoteWriter{url: p.process.Base() + "/api/v1/write",
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}},
		series: map[int][]byte{}}, nil
}

// remoteWriter sends remote write 1.0 (https://prometheus.io/docs/specs/prw/remote_write_spec/).
type remoteWriter struct {
	url              string
	client           *http.Client
	series           map[int][]byte // labels of a host's metric, encoded once
	body, compressed []byte
}

var writeHeader = map[string]string{"Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0"}

// Send implements Sender.
func (w *remoteWriter) Send(ctx context.Context, rows Rows) error {
	w.body = w.body[:0]
	timestamp := uint64(rows.TimeMs)
	sample := 1 + 8 + 1 + protowire.SizeVarint(timestamp)
	for i, v := range rows.Values {
		labels := w.labels(rows.First+i/rows.Metrics, i%rows.Metrics, rows.Metrics)
		w.body = append(w.body, 1<<3|2) // WriteRequest.timeseries
		w.body = protowire.AppendVarint(w.body, uint64(len(labels)+2+sample))
		w.body = append(w.body, labels...)
		w.body = append(w.body, 2<<3|2, byte(sample), 1<<3|1) // TimeSeries.samples; Sample.value, timestamp
		w.body = protowire.AppendFixed64(w.body, math.Float64bits(v))
		w.body = protowire.AppendVarint(append(w.body, 2<<3), timestamp)
	}
	w.compressed = snappy.Encode(w.compressed[:cap(w.compressed)], w.body)
	return post(ctx, w.client, w.url, "application/x-protobuf", writeHeader, w.compressed)
}

// labels are TimeSeries.labels of a host's metric, sorted by name.
func (w *remoteWriter) labels(host, metric, metrics int) []byte {
	encoded, known := w.series[host*metrics+metric]
	if known {
		return encoded
	}
	pairs := append(strings.Split(bench.Tags(host), ","), "__name__="+PromName(metric),
		fmt.Sprintf("hostname=host_%d", host))
	slices.Sort(pairs)
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		var label []byte
		label = protowire.AppendString(protowire.AppendTag(label, 1, protowire.BytesType), name)
		label = protowire.AppendString(protowire.AppendTag(label, 2, protowire.BytesType), value)
		encoded = protowire.AppendBytes(protowire.AppendTag(encoded, 1, protowire.BytesType), label)
	}
	w.series[host*metrics+metric] = encoded
	return encoded
}

// Close implements Sender.
func (w *remoteWriter) Close() { w.client.CloseIdleConnections() }
