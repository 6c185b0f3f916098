package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Kafka describes the broker that the topology reads its records from. A producer on this machine writes generated
// records to it, at the rates that the query gateway requests, like the topology's own source.
type Kafka struct {
	// Partitions is the topic's number of partitions on a started broker. Its records have the broker's timestamps
	// (LogAppendTime).
	Partitions int
	// Bootstrap is the address of an existing broker, "host:port". If it is "", a broker is started, and Start sets
	// its address here.
	Bootstrap string
}

const (
	kafkaTopic = "records"
	// firstProducedPerSecond is the record rate until a run sets its own. It is not 0, so that first records are seen.
	firstProducedPerSecond = "50"

	kafkaReadyLimit   = 90 * time.Second
	sourceStartLimit  = 150 * time.Second // includes the start of a topology's workers
	producerStopGrace = 12 * time.Second  // the producer writes its remaining records
	kafkaStopGrace    = 15 * time.Second  // the launcher promises 10 s
)

func (s *Stack) kafkaDir() string { return filepath.Join(s.options.Dir, "kafka") }

// startsKafka reports whether this stack starts the broker.
func (s *Stack) startsKafka() bool { return s.options.Kafka != nil && s.options.Kafka.Bootstrap == "" }

func (s *Stack) localKafka(verb string, more ...string) []string {
	return append([]string{"-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar",
		s.options.built("local-kafka.jar"), verb, "--dir", s.kafkaDir()}, more...)
}

// startKafka starts the broker, if this stack owns it, and returns when its topic exists.
func (s *Stack) startKafka(ctx context.Context) (err error) {
	if !s.startsKafka() {
		return nil
	}
	s.kafka, err = s.launch(command{name: "local-kafka", path: s.options.Java, log: s.logPath("local-kafka"),
		holdStdin: true, args: s.localKafka("up", "--home", s.options.built("kafka"), "--stop-with-stdin")})
	if err != nil {
		return err
	}
	var ready struct {
		Bootstrap string `json:"bootstrap"`
		Pid       int    `json:"pid"`
	}
	if err := s.kafka.awaitReady(ctx, kafkaReadyLimit, &ready); err != nil {
		return err
	}
	replace(s, &s.broker, ready.Pid)
	s.watch(s.kafka)
	own := *s.options.Kafka
	own.Bootstrap = ready.Bootstrap
	s.options.Kafka = &own
	_, err = s.java(ctx, "create the topic of the broker at "+own.Bootstrap,
		s.localKafka("create-topic", "--topic", kafkaTopic,
			"--partitions", strconv.Itoa(own.Partitions), "-c", "message.timestamp.type=LogAppendTime"))
	return err
}

// StartSource starts the producer of the submitted topology's records, once the topology polls for queries. It does
// nothing without Kafka, because the topology then makes its own records. Kill ends the producer.
func (s *Stack) StartSource(ctx context.Context) error {
	if s.options.Kafka == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sourceStartLimit,
		fmt.Errorf("no query spout asked the gateway for queries within %s", sourceStartLimit))
	defer cancel()
	ready := func() bool { return respondsOK(ctx, "http://"+s.options.GatewayListen+"/-/ready") }
	if err := poll.Until(ctx, 10*pollInterval, ready); err != nil {
		return fmt.Errorf("start the record source: %w", err)
	}
	p, err := s.launch(s.producerCommand())
	if err != nil {
		return err
	}
	replace(s, &s.producer, p)
	s.watchers.Go(func() {
		<-p.done
		// a producer that Kill ended or replaced must not be reported as a failure
		if current(s, &s.producer) == p && !current(s, &s.stopping) {
			s.fail(p.obituary())
		}
	})
	return nil
}

// producerCommand returns the producer's command line. The producer writes nothing until the gateway sends its rates.
func (s *Stack) producerCommand() command {
	o := s.options
	return command{name: "producer", path: o.Java, log: s.logPath("producer"),
		args: []string{"-Xmx128m", "-XX:+UseSerialGC", "-cp", o.built("bullet-topology.jar"),
			"io.github.bulletmetrics.topology.source.RecordProducer", "--bootstrap-server", o.Kafka.Bootstrap,
			"--topic", kafkaTopic, "--rate", "0", "--control-url", "http://" + o.GatewayListen + "/api/source/control",
			"-c", "linger.ms=2"}}
}

// stopSource ends the producer, if one runs.
func (s *Stack) stopSource(hasten <-chan struct{}) {
	if p := replace(s, &s.producer, nil); p != nil {
		p.stop(producerStopGrace, hasten)
	}
}

// kafkaDown makes local-kafka end whatever is left of a broker.
func (s *Stack) kafkaDown(ctx context.Context) error {
	if _, err := os.Stat(s.kafkaDir()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err := s.java(ctx, "end the remaining processes of the broker in "+s.kafkaDir(), s.localKafka("down"))
	return err
}
