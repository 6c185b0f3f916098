// Record runs an incident on a real Storm cluster with records from Kafka, and writes what the collector received into
// a recording, which `bullet-metrics tour` plays. A topology with one filter bolt holds queries. Then its workers get
// only a share of a core each, as a CPU limit of a container would give them, so that the bolt becomes slow and latency
// stays above the limit. Then the topology is submitted again with four filter bolts, on workers without that limit. It
// runs in the root of the repository, after make build:
//
//	go build -C collector-go -o ../build/record ./testing/cmd/record && build/record out/tour.rec
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
)

const (
	topology = "bullet"
	address  = "bullet.topology.metrics.collector.address="
	// slow is the mean filter latency, s, that the incident must exceed. The alert's limit is 0.2 s.
	slow = 0.3
)

// incident are the flags: durations of its phases and the load.
type incident struct {
	rate                     float64
	queries                  int
	share                    float64
	before, slowFor, recover time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var i incident
	flag.Float64Var(&i.rate, "rate", 500, "records per second")
	flag.IntVar(&i.queries, "queries", 100, "simultaneous queries")
	flag.Float64Var(&i.share, "share", 0.2, "share of a core that each worker gets from the incident on")
	flag.DurationVar(&i.before, "before", 5*time.Minute, "time before the incident")
	flag.DurationVar(&i.slowFor, "slow", 4*time.Minute, "time for which latency stays high")
	flag.DurationVar(&i.recover, "recover", 9*time.Minute, "time after the second submission")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: record [flags] FILE")
		os.Exit(2)
	}
	if err := i.record(ctx, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

func (i incident) record(ctx context.Context, path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out, err := replay.NewRecorder(file)
	if err != nil {
		return err
	}
	o := stack.DefaultOptions("out/record", "build")
	o.BulletConf = "topology/bullet-topology/conf/bullet_settings_kafka.yaml"
	o.Topology, o.Kafka, o.WorkerHeapMiB = topology, &stack.Kafka{Partitions: 2}, 512
	// Not the default ports, so that a collector or a demo may run beside it.
	o.GRPCListen, o.HTTPListen, o.GatewayListen = "127.0.0.1:14320", "127.0.0.1:19320", "127.0.0.1:19901"
	proxy, listening, err := newProxy(o.GRPCListen, out)
	if err != nil {
		return err
	}
	o.Settings = []string{address + listening, "bullet.topology.dsl.spout.parallelism=1",
		"bullet.topology.dsl.bolt.parallelism=1", "bullet.topology.result.bolt.parallelism=4",
		"bullet.topology.loop.bolt.parallelism=4", "bullet.topology.filter.bolt.parallelism=1",
		"bullet.dsl.connector.kafka.auto.offset.reset=latest"}
	s, err := stack.Enter(ctx, o, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop(nil), proxy.close()) }()
	if err := s.Start(ctx); err != nil {
		return err
	}
	return i.run(ctx, s, o)
}

func (i incident) run(ctx context.Context, s *stack.Stack, o stack.Options) error {
	gateway := load.NewGateway(o.GatewayListen, 20)
	defer gateway.Close()
	collector, err := client.New(o.HTTPListen, client.Access{})
	if err != nil {
		return err
	}
	launch := func(settings ...string) error {
		if err := s.SubmitAs(ctx, topology, settings); err != nil {
			return err
		}
		return errors.Join(s.StartSource(ctx), gateway.SetControl(ctx, load.Control{RecordsPerSecond: i.rate}))
	}
	queries := &queries{gateway: o.GatewayListen, program: o.Program}
	defer queries.stop()
	say("submitting with one filter bolt")
	if err := launch(); err != nil {
		return err
	}
	watch := func(d time.Duration) (latency float64) {
		for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
			wait(ctx, min(30*time.Second, time.Until(end)))
			latency, _ = latencyNow(ctx, collector)
			say("mean filter latency %.3f s", latency)
		}
		return latency
	}
	// Few queries at first: a JVM that has just started is slow.
	for _, part := range []struct {
		queries int
		d       time.Duration
	}{{i.queries / 8, i.before / 6}, {i.queries / 2, i.before / 6}, {i.queries, 2 * i.before / 3}} {
		if err := queries.hold(part.queries); err != nil {
			return err
		}
		say("%d queries", part.queries)
		watch(part.d)
	}
	say("each worker gets %g of a core", i.share)
	throttled, end := context.WithCancel(ctx)
	defer end()
	go throttle(throttled, s, i.share)
	if latency := watch(i.slowFor); latency < slow {
		return fmt.Errorf("the filter bolt did not become slow: %.3f s", latency)
	}
	annotate(o.HTTPListen, "Submitted again with four filter bolts")
	say("submitting with four filter bolts, and without the limit")
	end()
	if err := s.Kill(ctx, topology); err != nil {
		return err
	}
	queries.stop()
	if err := launch("bullet.topology.filter.bolt.parallelism=4"); err != nil {
		return err
	}
	if err := queries.hold(i.queries); err != nil {
		return err
	}
	watch(i.recover)
	return nil
}

// throttle stops each worker for a part of each tenth of a second, until ctx is done.
func throttle(ctx context.Context, s *stack.Stack, share float64) {
	const period = 100 * time.Millisecond
	signal := func(workers []stack.Worker, signal syscall.Signal) {
		for _, w := range workers {
			_ = syscall.Kill(w.Pid, signal) // it may have ended
		}
	}
	var workers atomic.Pointer[[]stack.Worker]
	asked := time.Time{}
	for ctx.Err() == nil {
		if time.Since(asked) > 15*time.Second {
			asked = time.Now()
			go func() {
				if found, err := s.Workers(ctx); err == nil {
					workers.Store(&found)
				}
			}()
		}
		now := []stack.Worker{}
		if found := workers.Load(); found != nil {
			now = *found
		}
		signal(now, syscall.SIGSTOP)
		wait(ctx, time.Duration((1-share)*float64(period)))
		signal(now, syscall.SIGCONT)
		wait(ctx, time.Duration(share*float64(period)))
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// latencyNow returns the mean filter latency over the last minute, s.
func latencyNow(ctx context.Context, c *client.Client) (float64, error) {
	vector, err := c.Vector(ctx, `avg(avg_over_time(bullet_filter_latency_mean_seconds{topology="`+topology+`"}[1m]))`,
		time.Now())
	if err != nil || len(vector) == 0 {
		return 0, err
	}
	return float64(vector[0].Value), nil
}

func annotate(collector, title string) {
	body := []byte(`{"topology": "` + topology + `", "title": "` + title + `", "tags": ["deployment"]}`)
	response, err := http.Post("http://"+collector+"/api/v1/annotations", "application/json", bytes.NewReader(body))
	if err != nil {
		say("annotate: %v", err)
		return
	}
	response.Body.Close()
	say("annotated: %s", response.Status)
}

// query costs the filter bolt much for each record, so that few queries fill it and the rest of the machine does not.
const query = `SELECT * FROM STREAM(10000, TIME) WHERE path RLIKE '.*-z9+x.*' OR title RLIKE '.*-z9+x.*' OR
	referrer RLIKE '.*-z9+x.*' OR campaign RLIKE '.*-z9+x.*' OR product RLIKE '.*-z9+x.*' OR
	category RLIKE '.*-z9+x.*' OR status RLIKE '.*-z9+x.*' OR action RLIKE '.*-z9+x.*' LIMIT 10`

// queries is the client that keeps a number of queries running.
type queries struct {
	gateway, program string
	client           *exec.Cmd
}

func (q *queries) hold(n int) error {
	q.stop()
	q.client = exec.Command(q.program, "load", "--url", q.gateway, "--held", strconv.Itoa(n), "--duration", "0",
		"--query", query, "--topology", topology)
	q.client.Stderr = os.Stderr
	return q.client.Start()
}

func (q *queries) stop() {
	if q.client != nil {
		_ = q.client.Process.Signal(os.Interrupt)
		_ = q.client.Wait()
		q.client = nil
	}
}

// proxy passes streams on to a collector and records their requests.
type proxy struct {
	pb.UnimplementedIngestServiceServer
	server   *grpc.Server
	upstream *grpc.ClientConn

	mu      sync.Mutex
	out     *replay.Recorder
	streams uint64
}

func newProxy(collector string, out *replay.Recorder) (p *proxy, listening string, err error) {
	p = &proxy{server: grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20)), out: out}
	p.upstream, err = grpc.NewClient(collector, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	pb.RegisterIngestServiceServer(p.server, p)
	go func() { _ = p.server.Serve(listener) }()
	return p, listener.Addr().String(), nil
}

func (p *proxy) close() error {
	p.server.Stop()
	return errors.Join(p.upstream.Close(), p.out.Close())
}

// Export implements pb.IngestServiceServer.
func (p *proxy) Export(in pb.IngestService_ExportServer) error {
	up, err := pb.NewIngestServiceClient(p.upstream).Export(in.Context())
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.streams++
	stream := p.streams
	p.mu.Unlock()
	defer p.write(stream, nil)
	go func() {
		for {
			request, err := in.Recv()
			if err != nil {
				_ = up.CloseSend()
				return
			}
			p.write(stream, request)
			if up.Send(request) != nil {
				return
			}
		}
	}()
	for {
		response, err := up.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := in.Send(response); err != nil {
			return err
		}
	}
}

func (p *proxy) write(stream uint64, request *pb.ExportRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.out.Write(replay.Event{AtMs: time.Now().UnixMilli(), Stream: stream, Request: request}); err != nil {
		say("write the recording: %v", err)
	}
}
