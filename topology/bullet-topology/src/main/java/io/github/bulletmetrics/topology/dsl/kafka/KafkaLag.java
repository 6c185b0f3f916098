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
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How many records the partitions of one task hold that it has not read. While the consumer polls, it knows by its own
 * last fetch; while max spout pending keeps it from polling, which is when the lag grows and what it knows stands
 * still, the broker is asked.
 *
 * <p>To be used on the thread that polls. Asking takes a round trip to the broker, of a thread that has nothing else to
 * do then but acks; after {@value #LIMIT_MS} ms there is no figure, rather than an old one.
 */
public final class KafkaLag {
    private static final Logger LOG = LoggerFactory.getLogger(KafkaLag.class);
    private static final long LIMIT_MS = 1_000;
    private static final Duration LIMIT = Duration.ofMillis(LIMIT_MS);

    /** What the consumer knows is at most this much older. */
    private static final long RECENT_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Consumer<?, ?> consumer;
    private final LongSupplier nanoTime;
    private long lastPoll;
    private boolean failing;

    KafkaLag(Consumer<?, ?> consumer, LongSupplier nanoTime) {
        this.consumer = consumer;
        this.nanoTime = nanoTime;
        lastPoll = nanoTime.getAsLong() - 2 * RECENT_NANOS;
    }

    /**
     * The lag of an initialized connector.
     *
     * @param connector a KafkaConnector of bullet-dsl, or one derived from it.
     * @return its lag; without a figure, and said once in the log, where its consumer cannot be got hold of.
     */
    public static KafkaLag of(BulletConnector connector) {
        return new KafkaLag(consumerOf(connector), System::nanoTime);
    }

    /** bullet-dsl 1.2.2 keeps it in a private field and has no getter. */
    private static Consumer<?, ?> consumerOf(BulletConnector connector) {
        try {
            Field field = KafkaConnector.class.getDeclaredField("consumer");
            field.setAccessible(true);
            return (Consumer<?, ?>) field.get(connector);
        } catch (ReflectiveOperationException | RuntimeException e) {
            LOG.warn("Cannot report bullet_source_lag: this version of bullet-dsl is not compatible with 1.2.2", e);
            return null;
        }
    }

    /** To be called after each poll. */
    public void polled() {
        lastPoll = nanoTime.getAsLong();
    }

    /**
     * Adds up the partitions that the task has now.
     *
     * @return the records still to be read, 0 while the task has no partition, or null where the broker does not say in
     *     time.
     */
    public Long records() {
        if (consumer == null) {
            return null;
        }
        try {
            Long known = nanoTime.getAsLong() - lastPoll <= RECENT_NANOS ? known() : null;
            long lag = known != null ? known : asked();
            failing = false;
            return lag;
        } catch (KafkaException | IllegalStateException e) {
            if (!failing) {
                failing = true;
                LOG.warn("Cannot read the lag of {}: {}", consumer.assignment(), e.toString());
            }
            return null;
        }
    }

    /** By the last fetch of each partition, or null where one has not been fetched yet. */
    private Long known() {
        long lag = 0;
        for (TopicPartition partition : consumer.assignment()) {
            OptionalLong known = consumer.currentLag(partition);
            if (known.isEmpty()) {
                return null;
            }
            lag += known.getAsLong();
        }
        return lag;
    }

    private long asked() {
        long lag = 0;
        for (Map.Entry<TopicPartition, Long> end : consumer.endOffsets(consumer.assignment(), LIMIT).entrySet()) {
            lag += Math.max(0, end.getValue() - consumer.position(end.getKey(), LIMIT));
        }
        return lag;
    }
}
