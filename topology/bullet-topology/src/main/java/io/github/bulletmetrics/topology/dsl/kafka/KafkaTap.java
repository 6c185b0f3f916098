package io.github.bulletmetrics.topology.dsl.kafka;

import com.yahoo.bullet.dsl.BulletDSLException;
import io.github.bulletmetrics.topology.dsl.Arrivals;

import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

import java.util.HashMap;
import java.util.Map;

/**
 * Takes down what bullet-dsl's KafkaConnector throws away: the timestamp and the size of each record, and whether it
 * had come before. It sits in the consumer as one of its {@code interceptor.classes}, changes nothing, and runs on the
 * thread that polls.
 *
 * <p>Kafka makes it by its class name, so it finds the {@link Arrivals} of its spout through the thread that opens
 * both.
 */
public final class KafkaTap implements ConsumerInterceptor<Object, Object> {
    private static final ThreadLocal<Arrivals> OPENING = new ThreadLocal<>();

    private final Map<TopicPartition, Long> next = new HashMap<>();
    private Arrivals arrivals;

    /** What opens a connector. */
    @FunctionalInterface
    public interface Opening {
        /**
         * Opens it, on the calling thread.
         *
         * @throws BulletDSLException when it cannot.
         */
        void run() throws BulletDSLException;
    }

    /**
     * Opens a connector whose consumer, if it has one, is to take down what arrives.
     *
     * @param arrivals where to.
     * @param opening what makes the consumer on this very thread.
     * @throws BulletDSLException from the opening.
     */
    public static void whileOpening(Arrivals arrivals, Opening opening) throws BulletDSLException {
        OPENING.set(arrivals);
        try {
            opening.run();
        } finally {
            OPENING.remove();
        }
    }

    @Override
    public void configure(Map<String, ?> settings) {
        arrivals = OPENING.get();
    }

    @Override
    public ConsumerRecords<Object, Object> onConsume(ConsumerRecords<Object, Object> records) {
        if (arrivals != null) {
            records.forEach(this::take);
        }
        return records;
    }

    private void take(ConsumerRecord<Object, Object> record) {
        arrivals.add(record.timestamp(), size(record.serializedKeySize()) + size(record.serializedValueSize()));
        TopicPartition partition = new TopicPartition(record.topic(), record.partition());
        Long expected = next.get(partition);
        if (expected != null && record.offset() < expected) {
            arrivals.addRepeated();
        } else {
            next.put(partition, record.offset() + 1);
        }
    }

    /** Kafka says -1 for a key or a value that is not there. */
    private static int size(int bytes) {
        return Math.max(bytes, 0);
    }

    @Override
    public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
    }

    @Override
    public void close() {
    }
}
