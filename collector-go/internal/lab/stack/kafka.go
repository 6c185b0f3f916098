package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Kafka is a broker that the topology reads its records from, and a producer on this machine that writes them:
// generated records, at the rates that the query gateway receives, as the topology's own source would make them.
type Kafka struct {
	// Bootstrap is a broker that is there, "host:port"; "" for one that is started, whose address Start puts here.
	Bootstrap string
	// Partitions are those of the topic of a broker that is started. Its records' times are the broker's
	// (LogAppendTime).
	Partitions int
}

const (
	kafkaTopic = "records"
	// firstProducedPerSecond is the rate of records until a run sets its own: some, so that the first are seen.
	firstProducedPerSecond = "50"

	kafkaReadyLimit   = 90 * time.Second
	sourceStartLimit  = 150 * time.Second // a topology's workers start
	producerStopGrace = 12 * time.Second  // it writes what it has
	kafkaStopGrace    = 15 * time.Second  // the launcher promises 10 s
)

func (s *Stack) kafkaDir() string { return filepath.Join(s.options.Dir, "kafka") }

// startsKafka reports whether the broker is ours.
func (s *Stack) startsKafka() bool { return s.options.Kafka != nil && s.options.Kafka.Bootstrap == "" }

func (s *Stack) localKafka(verb string, more ...string) []string {
	return append([]string{"-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar",
		s.options.built("local-kafka.jar"), verb, "--dir", s.kafkaDir()}, more...)
}

// startKafka starts the broker, if it is ours, and returns when its topic is there.
func (s *Stack) startKafka(ctx context.Context) error {
	if !s.startsKafka() {
		return nil
	}
	var err error
	s.kafka, err = s.launch(command{name: "local-kafka", path: s.options.Java, log: s.logPath("local-kafka"),
		holdStdin: true,
		args:      s.localKafka("up", "--home", s.options.built("kafka"), "--stop-with-stdin")})
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
	s.mu.Lock()
	s.broker = ready.Pid
	s.mu.Unlock()
	s.watch(s.kafka)
	own := *s.options.Kafka
	own.Bootstrap = ready.Bootstrap
	s.options.Kafka = &own
	_, err = s.java(ctx, "create the topic of the broker at "+own.Bootstrap,
		s.localKafka("create-topic", "--topic", kafkaTopic,
			"--partitions", strconv.Itoa(own.Partitions), "-c", "message.timestamp.type=LogAppendTime"))
	return err
}

// StartSource starts what writes the submitted topology's records, once the topology asks for queries; without Kafka
// the topology makes its records itself. Kill ends it.
func (s *Stack) StartSource(ctx context.Context) error {
	if s.options.Kafka == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sourceStartLimit,
		fmt.Errorf("no query spout asked the gateway for queries within %s", sourceStartLimit))
	defer cancel()
	ticker := time.NewTicker(10 * pollInterval)
	defer ticker.Stop()
	for !respondsOK(ctx, "http://"+s.options.GatewayListen+"/-/ready") {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("start the source of records: %w", context.Cause(ctx))
		}
	}
	p, err := s.launch(s.producerCommand())
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.producer = p
	s.mu.Unlock()
	s.watchers.Go(func() {
		<-p.done
		if s.currentProducer() == p && !s.isStopping() {
			s.fail(p.obituary())
		}
	})
	return nil
}

// producerCommand writes nothing until the gateway says at which rates.
func (s *Stack) producerCommand() command {
	o := s.options
	return command{name: "producer", path: o.Java, log: s.logPath("producer"),
		args: []string{"-Xmx128m", "-XX:+UseSerialGC", "-cp", o.built("bullet-topology.jar"),
			"io.github.bulletmetrics.topology.source.RecordProducer", "--bootstrap-server",
			o.Kafka.Bootstrap, "--topic",
			kafkaTopic, "--rate", "0",
			"--control-url", "http://" + o.GatewayListen + "/api/source/control", "-c", "linger.ms=2"}}
}

// currentProducer is read under the lock: a producer that Kill replaced or ended must not be reported as a failure.
func (s *Stack) currentProducer() *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.producer
}

// stopSource ends the producer, if one runs.
func (s *Stack) stopSource(hasten <-chan struct{}) {
	s.mu.Lock()
	p := s.producer
	s.producer = nil
	s.mu.Unlock()
	if p != nil {
		p.stop(producerStopGrace, hasten)
	}
}

// stopKafka ends our broker, also one whose launcher was killed.
func (s *Stack) stopKafka(hasten <-chan struct{}) error {
	if s.kafka != nil && (!s.kafka.stop(kafkaStopGrace, hasten) || s.kafka.err != nil) {
		return s.kafkaDown(context.Background())
	}
	return nil
}

// kafkaDown lets local-kafka end whatever is left of a broker.
func (s *Stack) kafkaDown(ctx context.Context) error {
	if _, err := os.Stat(s.kafkaDir()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err := s.java(ctx, "end what is left of the broker in "+s.kafkaDir(), s.localKafka("down"))
	return err
}
