package io.github.bulletmetrics.topology.dsl.kafka;

import com.yahoo.bullet.dsl.connector.BulletConnector;
import com.yahoo.bullet.dsl.connector.KafkaConnector;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Map;

/**
 * How many records the partitions of one task hold that it has not read. The broker is asked each time, since what the consumer
 * itself remembers stands still while max spout pending keeps it from polling, which is when the lag grows.
 *
 * <p>To be used on the thread that polls. A reading takes a round trip to the broker, behind the consumer's fetch that is already on
 * its way: a millisecond or two while records come, up to fetch.max.wait.ms (500) while none do, when nobody waits for the thread.
 * After {@value #LIMIT_MS} ms there is no figure, rather than an old one.
 */
public final class KafkaLag {
    private static final Logger LOG = LoggerFactory.getLogger(KafkaLag.class);
    private static final long LIMIT_MS = 1_000;
    private static final Duration LIMIT = Duration.ofMillis(LIMIT_MS);

    private final Consumer<?, ?> consumer;
    private boolean failing;

    KafkaLag(Consumer<?, ?> consumer) {
        this.consumer = consumer;
    }

    /**
     * The lag of an initialized connector.
     *
     * @param connector a KafkaConnector of bullet-dsl, or one derived from it.
     * @return its lag; without a figure, and said once in the log, where its consumer cannot be got hold of.
     */
    public static KafkaLag of(BulletConnector connector) {
        return new KafkaLag(consumerOf(connector));
    }

    /** bullet-dsl 1.2.2 keeps it in a private field and has no getter. */
    private static Consumer<?, ?> consumerOf(BulletConnector connector) {
        try {
            Field field = KafkaConnector.class.getDeclaredField("consumer");
            field.setAccessible(true);
            return (Consumer<?, ?>) field.get(connector);
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.warn("No bullet_source_lag: this bullet-dsl keeps its Kafka consumer elsewhere than 1.2.2 does", e);
            return null;
        }
    }

    /**
     * Asks the broker.
     *
     * @return the records still to be read, 0 while the task has no partition, or null where the broker does not say in time.
     */
    public Long records() {
        if (consumer == null) {
            return null;
        }
        try {
            long lag = 0;
            Map<TopicPartition, Long> ends = consumer.endOffsets(consumer.assignment(), LIMIT);
            for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
                lag += Math.max(0, end.getValue() - consumer.position(end.getKey(), LIMIT));
            }
            failing = false;
            return lag;
        } catch (KafkaException | IllegalStateException e) {
            if (!failing) {
                failing = true;
                LOG.warn("The lag of {} is not known: {}", consumer.assignment(), e.toString());
            }
            return null;
        }
    }
}
