package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
)

// Options define where the parts are and how they run.
type Options struct {
	// Dir is the run's directory, with logs, the cluster's state and the record of processes.
	Dir string
	// DataDir is the collector's data directory, which is kept between runs.
	DataDir string
	// BuildDir holds the output of `make build`: local-storm.jar, storm/, bullet-topology.jar,
	// bullet-metrics-storm.jar.
	BuildDir string
	// Program is the bullet-metrics binary that runs as the collector.
	Program string
	// Java is the java binary for all Java parts.
	Java string
	// GRPCListen, HTTPListen and GatewayListen are loopback addresses, "host:port".
	GRPCListen, HTTPListen, GatewayListen string
	// SliceWidth and SliceLateness are settings of the collector.
	SliceWidth, SliceLateness time.Duration
	// CollectorFlags are more flags for the collector, such as --alertmanager-urls.
	CollectorFlags []string
	// GatewayFlags are more flags for the query gateway, such as --grace-ms.
	GatewayFlags []string
	// Topology is the name that the topology is submitted under.
	Topology string
	// BulletConf is the Bullet YAML of the topology.
	BulletConf string
	// Settings override those of BulletConf, as "key=value" with the value in YAML.
	Settings []string
	// Workers is the number of worker processes.
	Workers int
	// WorkerHeapMiB limits each worker's heap.
	WorkerHeapMiB int
	// DRPCThreads is the number of HTTP threads of the cluster's DRPC server, which then receives the queries. If it
	// is 0, there is no DRPC server and queries go through the gateway.
	DRPCThreads int
	// Kafka is the broker that records come from; nil if the topology's own source makes them.
	Kafka *Kafka
}

// DefaultOptions run the parts built under buildDir for a run in dir, with two workers of 384 MiB heap each, on the
// default addresses.
func DefaultOptions(dir, buildDir string) Options {
	return Options{
		Dir: dir, DataDir: filepath.Join(dir, "data"), BuildDir: buildDir,
		Program: filepath.Join(buildDir, "bullet-metrics"), Java: java(), GRPCListen: "127.0.0.1:4320",
		HTTPListen: "127.0.0.1:9320", GatewayListen: "127.0.0.1:9901", SliceWidth: 10 * time.Second,
		SliceLateness: 5 * time.Second, Topology: "bullet",
		BulletConf: "topology/bullet-topology/conf/bullet_settings.yaml", Workers: 2, WorkerHeapMiB: 384,
	}
}

// java returns the java binary of JAVA_HOME, or else the one in PATH.
func java() string {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return filepath.Join(home, "bin", "java")
	}
	return "java"
}

// Validate returns an error that names a missing part and how to get it.
func (o Options) Validate() error {
	if o.Workers < 1 || o.WorkerHeapMiB < 64 {
		return errors.New("at least one worker with at least 64 MiB of heap is required")
	}
	parts := []string{o.Program, o.BulletConf, o.built("local-storm.jar"), o.built("storm"),
		o.built("bullet-topology.jar"), o.built("bullet-metrics-storm.jar")}
	if o.Kafka != nil && o.Kafka.Bootstrap == "" {
		parts = append(parts, o.built("local-kafka.jar"), o.built("kafka"))
	}
	for _, path := range parts {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%s is missing: run make build in the root of the repository, and start from there", path)
		}
	}
	return nil
}

func (o Options) built(name string) string { return filepath.Join(o.BuildDir, name) }

// clusterDir returns the state directory of the local cluster, which the launcher owns.
func (o Options) clusterDir() string { return filepath.Join(o.Dir, "storm") }

// listens returns the addresses of the parts, and the flags that select them.
func (o Options) listens() []listens {
	return []listens{
		{address.HostPort(o.GRPCListen), "--grpc-listen", "the collector's gRPC"},
		{address.HostPort(o.HTTPListen), "--http-listen", "the collector's HTTP"},
		{address.HostPort(o.GatewayListen), "--gateway-listen", "the query gateway"},
	}
}

type listens struct {
	address    address.HostPort
	flag, what string
}

// checkAddresses validates the addresses. Each needs a host and a port, because the parts call each other by them.
func (o Options) checkAddresses() error {
	for i, port := range o.listens() {
		if err := port.address.Server("127.0.0.1:9320"); err != nil {
			return fmt.Errorf("%s %w", port.flag, err)
		}
		for _, other := range o.listens()[:i] {
			if port.address.Overlaps(other.address) {
				return fmt.Errorf("%s %q: %s %q has the same port; use different ports", port.flag, port.address,
					other.flag, other.address)
			}
		}
	}
	return nil
}

// checkPorts detects a busy port before anything is started, and names the flag that selects another.
func (o Options) checkPorts() error {
	if err := o.checkAddresses(); err != nil {
		return err
	}
	for _, port := range o.listens() {
		listener, err := net.Listen("tcp", string(port.address))
		if err != nil {
			return fmt.Errorf("%s cannot listen on %s: %w: stop the process that listens there (see ss -ltnp), or use another address with %s",
				port.what, port.address, err, port.flag)
		}
		listener.Close()
	}
	return nil
}

func (s *Stack) collectorCommand() command {
	o := s.options
	return command{name: "collector", path: o.Program, log: s.logPath("collector"), args: append([]string{
		"serve", "--data-dir", o.DataDir, "--grpc-listen", o.GRPCListen, "--http-listen", o.HTTPListen,
		"--slice-width", o.SliceWidth.String(), "--slice-lateness", o.SliceLateness.String(),
	}, o.CollectorFlags...)}
}

func (s *Stack) localStorm(verb string, more ...string) []string {
	return append([]string{"-XX:TieredStopAtLevel=1", "-jar", s.options.built("local-storm.jar"), verb, "--dir",
		s.options.clusterDir()}, more...)
}

func (s *Stack) clusterCommand() command {
	o := s.options
	c := command{name: "local-storm", path: o.Java, log: s.logPath("local-storm"), holdStdin: true,
		args: s.localStorm("up", "--home", o.built("storm"), "--slots", strconv.Itoa(o.Workers), "--worker-heap-mib",
			strconv.Itoa(o.WorkerHeapMiB), "--extlib", o.built("bullet-metrics-storm.jar"), "--stop-with-stdin")}
	if o.DRPCThreads > 0 {
		c.args = append(c.args, "--drpc", "--drpc-threads", strconv.Itoa(o.DRPCThreads))
	}
	return c
}

func (s *Stack) gatewayCommand() command {
	o := s.options
	args := []string{"-Xmx256m", "-XX:+UseSerialGC", "-cp", o.built("bullet-topology.jar"),
		"io.github.bulletmetrics.topology.gateway.QueryGateway", "--bullet-conf", o.BulletConf, "--listen",
		o.GatewayListen}
	return command{name: "gateway", path: o.Java, log: s.logPath("gateway"),
		args: slices.Concat(args, o.GatewayFlags, o.settingArgs())}
}

func (s *Stack) submitCommand(name string, settings []string) command {
	o := s.options
	o.Settings = append(slices.Clone(o.Settings), settings...)
	args := s.localStorm("submit", "--jar", o.built("bullet-topology.jar"), "--main",
		"io.github.bulletmetrics.topology.BulletTopology", "--name", name, "--", "--bullet-conf", o.BulletConf)
	return command{name: "submit", path: o.Java, log: s.logPath("submit"), args: append(args, o.settingArgs()...)}
}

// AllSettings returns the settings that override BulletConf: the addresses of this stack, then Settings.
func (o Options) AllSettings() []string {
	all := []string{
		"bullet.topology.custom.topology.workers=" + strconv.Itoa(o.Workers),
		"bullet.topology.metrics.collector.address=" + o.GRPCListen,
		"bullet.pubsub.rest.query.urls=[http://" + o.GatewayListen + "/api/bullet/pubsub/query]",
		"bullet.topology.generator.control.url=http://" + o.GatewayListen + "/api/source/control",
	}
	if o.DRPCThreads > 0 {
		all = append(all, "bullet.pubsub.class.name=com.yahoo.bullet.storm.drpc.DRPCPubSub",
			"bullet.query.window.disable=true")
	}
	if o.Kafka != nil {
		all = append(all, "bullet.dsl.connector.kafka.bootstrap.servers="+strconv.Quote(o.Kafka.Bootstrap),
			"bullet.dsl.connector.kafka.topics=["+kafkaTopic+"]",
			// the producer's initial rate, which the gateway sends to it
			"bullet.topology.generator.records.per.second="+firstProducedPerSecond)
	}
	return append(all, o.Settings...)
}

func (o Options) settingArgs() []string {
	var args []string
	for _, setting := range o.AllSettings() {
		args = append(args, "-c", setting)
	}
	return args
}

// JavaVersion returns the first line of the output of java -version.
func (o Options) JavaVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, o.Java, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("get the version of %s: %w", o.Java, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line, nil
}

// KafkaVersion returns the version of the broker that these options start, from the names of its jars. It is "" if
// they start none.
func (o Options) KafkaVersion() string {
	if o.Kafka == nil || o.Kafka.Bootstrap != "" {
		return ""
	}
	const name = "kafka-clients-"
	jars, _ := filepath.Glob(o.built(filepath.Join("kafka", "lib", name+"*.jar")))
	if len(jars) != 1 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), name), ".jar")
}
