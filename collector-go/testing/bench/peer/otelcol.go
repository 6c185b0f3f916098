package peer

import (
	"context"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// otelcol is an OpenTelemetry Collector whose exporter does nothing.
type otelcol struct {
	program string
	process *bench.Process
	address string // of OTLP over gRPC
}

func newOTelCol(tools string) (Peer, error) {
	path, err := program(tools, "otelcol")
	return &otelcol{program: path}, err
}

// otelConfig has no batching and no queue: what comes in is decoded and dropped.
const otelConfig = `{receivers: {otlp: {protocols: {grpc: {endpoint: %q, max_recv_msg_size_mib: 64}}}}, exporters: {nop: {}},
service: {pipelines: {metrics: {receivers: [otlp], exporters: [nop]}}, telemetry: {logs: {level: error},
metrics: {level: basic, readers: [{pull: {exporter: {prometheus: {host: %q, port: %s}}}}]}}}}`

// Start implements Peer.
func (o *otelcol) Start(ctx context.Context, dir string) (*bench.Process, error) {
	var err error
	if o.address, err = bench.FreeAddress(); err != nil {
		return nil, err
	}
	web, err := bench.FreeAddress()
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(web)
	if err != nil {
		return nil, err
	}
	config := strings.ReplaceAll(fmt.Sprintf(otelConfig, o.address, host, port), "\n", " ")
	o.process, err = bench.Start(ctx, o.program, []string{"--config", "yaml:" + config}, "http://"+web, "/metrics",
		filepath.Join(dir, "log"))
	return o.process, err
}

// Count implements Peer: the points that were accepted, of all metrics together and divided by so many; there is no
// sum.
func (o *otelcol) Count(context.Context, int, Span) (values, sum float64, err error) {
	return 0, 0, fmt.Errorf("an OpenTelemetry Collector that stores nothing answers no query")
}

// Accepted is how many points it has taken so far, by its own count.
func (o *otelcol) Accepted(ctx context.Context) (int, error) {
	n, err := o.process.Figure(ctx, "otelcol_receiver_accepted_metric_points")
	if n == 0 && err == nil {
		n, err = o.process.Figure(ctx, "otelcol_receiver_accepted_metric_points_total")
	}
	return int(n), err
}

// Sender implements Peer.
func (o *otelcol) Sender() (Sender, error) {
	if o.process == nil {
		return nil, errEnded
	}
	conn, err := grpc.NewClient(o.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		return nil, err
	}
	return &otlpSender{conn: conn, hosts: map[int]*otlpMessage{}}, nil
}

// raw is a codec of messages that are encoded already.
type raw struct{}

var _ encoding.Codec = raw{}

func (raw) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (raw) Name() string                       { return "proto" }

// otlpSender sends a request a message. Messages are encoded once for each host; times and values, which have a fixed
// width, are put in place.
type otlpSender struct {
	conn  *grpc.ClientConn
	hosts map[int]*otlpMessage
	body  []byte
}

// otlpMessage is a ResourceMetrics of a host, with the places of each metric's time and value.
type otlpMessage struct {
	encoded       []byte
	times, values []int
}

const otlpExport = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

// Send implements Sender.
func (s *otlpSender) Send(ctx context.Context, rows Rows) error {
	body := make([]byte, 0, len(s.body)) // the transport keeps what it is given
	for i := 0; i < len(rows.Values); i += rows.Metrics {
		host := rows.First + i/rows.Metrics
		m := s.hosts[host]
		if m == nil {
			m = newOTLPMessage(host, rows.Metrics)
			s.hosts[host] = m
		}
		for n, v := range rows.Values[i : i+rows.Metrics] {
			put64(m.encoded[m.times[n]:], uint64(rows.TimeMs)*1_000_000)
			put64(m.encoded[m.values[n]:], math.Float64bits(v))
		}
		body = append(body, m.encoded...)
	}
	s.body = body
	var answer []byte
	return s.conn.Invoke(ctx, otlpExport, body, &answer)
}

// Close implements Sender.
func (s *otlpSender) Close() { _ = s.conn.Close() }

func put64(to []byte, v uint64) {
	for i := range 8 {
		to[i] = byte(v >> (8 * i))
	}
}

// newOTLPMessage encodes ExportMetricsServiceRequest.resource_metrics of a host: its name and tags are the resource's
// attributes, each metric is a gauge of one point.
func newOTLPMessage(host, metrics int) *otlpMessage {
	var resource []byte
	for pair := range strings.SplitSeq(fmt.Sprintf("hostname=host_%d,%s", host, bench.Tags(host)), ",") {
		name, value, _ := strings.Cut(pair, "=")
		text := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), value)
		attribute := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
		attribute = protowire.AppendBytes(protowire.AppendTag(attribute, 2, protowire.BytesType), text)
		resource = protowire.AppendBytes(protowire.AppendTag(resource, 1, protowire.BytesType), attribute)
	}
	var scope []byte
	var times, values []int // within scope
	for m := range metrics {
		const point = 1 + 8 + 1 + 8
		metric := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), bench.Field(m))
		metric = protowire.AppendVarint(protowire.AppendTag(metric, 5, protowire.BytesType), 2+point) // gauge
		metric = append(metric, 1<<3|2, point)                                                        // data_points
		metric = append(append(metric, 3<<3|1), make([]byte, 8)...)                                   // time_unix_nano
		metric = append(append(metric, 4<<3|1), make([]byte, 8)...)                                   // as_double
		scope = protowire.AppendBytes(protowire.AppendTag(scope, 2, protowire.BytesType), metric)
		times, values = append(times, len(scope)-17), append(values, len(scope)-8)
	}
	inner := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), resource)
	inner = protowire.AppendBytes(protowire.AppendTag(inner, 2, protowire.BytesType), scope)
	m := &otlpMessage{encoded: protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)}
	offset := len(m.encoded) - len(scope)
	for i := range times {
		m.times, m.values = append(m.times, offset+times[i]), append(m.values, offset+values[i])
	}
	return m
}
