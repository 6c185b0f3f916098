package io.github.bulletmetrics.topology.dsl.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

class KafkaLagTest {
    private static final TopicPartition FIRST = new TopicPartition("records", 0);
    private static final TopicPartition SECOND = new TopicPartition("records", 1);

    /** MockConsumer has no limit of time of its own. */
    private static class Broker extends MockConsumer<String, String> {
        boolean away;
        long known = 3;

        Broker() {
            super("earliest");
        }

        @Override
        public synchronized OptionalLong currentLag(TopicPartition partition) {
            return known < 0 ? OptionalLong.empty() : OptionalLong.of(known);
        }

        @Override
        public synchronized Map<TopicPartition, Long> endOffsets(Collection<TopicPartition> partitions,
        Duration limit) {
            if (away) {
                throw new org.apache.kafka.common.errors.TimeoutException("no answer");
            }
            return super.endOffsets(partitions);
        }
    }

    private final Broker broker = new Broker();
    private long nanos;
    private final KafkaLag lag = new KafkaLag(broker, () -> nanos);

    private void assign() {
        broker.assign(List.of(FIRST, SECOND));
        broker.updateEndOffsets(Map.of(FIRST, 10L, SECOND, 7L));
        broker.seek(FIRST, 4);
        broker.seek(SECOND, 7);
    }

    @Test
    void isWhatThePartitionsHoldBeyondThePosition() {
        assertThat(lag.records()).as("no partition yet").isZero();
        assign();
        assertThat(lag.records()).isEqualTo(6);
        broker.updateEndOffsets(Map.of(FIRST, 20L));
        assertThat(lag.records()).as("the broker is asked each time").isEqualTo(16);
    }

    @Test
    void isWhatTheConsumerKnowsWhileItPolls() {
        assign();
        lag.polled();
        nanos = TimeUnit.SECONDS.toNanos(1);
        assertThat(lag.records()).as("of two partitions").isEqualTo(6);
        broker.away = true;
        assertThat(lag.records()).as("without asking").isEqualTo(6);
        broker.away = false;

        nanos += 1;
        broker.updateEndOffsets(Map.of(FIRST, 30L));
        assertThat(lag.records()).as("asked, since nothing was polled for more than a second").isEqualTo(26);

        lag.polled();
        broker.known = -1;
        assertThat(lag.records()).as("asked, since the consumer has not fetched yet").isEqualTo(26);
    }

    @Test
    void isNotKnownWhileTheBrokerDoesNotAnswer() {
        assign();
        broker.away = true;
        assertThat(lag.records()).isNull();
        broker.away = false;
        assertThat(lag.records()).isEqualTo(6);
    }
}
