package io.github.bulletmetrics.topology.dsl.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.dsl.BulletDSLException;
import io.github.bulletmetrics.topology.dsl.TestArrivals;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

class KafkaTapTest {
    private final TestArrivals arrivals = new TestArrivals();

    private KafkaTap opened() throws BulletDSLException {
        KafkaTap tap = new KafkaTap();
        KafkaTap.whileOpening(arrivals.arrivals(), () -> tap.configure(Map.of()));
        return tap;
    }

    private static ConsumerRecords<Object, Object> records(long... offsets) {
        TopicPartition partition = new TopicPartition("records", 0);
        List<ConsumerRecord<Object, Object>> records = Stream.of(offsets).flatMapToLong(java.util.Arrays::stream)
            .mapToObj(offset -> new ConsumerRecord<Object, Object>("records", 0, offset, 1_000 + offset,
            TimestampType.CREATE_TIME,
                -1, 90, null, "v" + offset, new RecordHeaders(), Optional.empty())).toList();
        return new ConsumerRecords<>(Map.of(partition, records), Map.of());
    }

    @Test
    void takesDownTimesAndBytesAndChangesNothing() throws Exception {
        ConsumerRecords<Object, Object> records = records(5, 6);

        assertThat(opened().onConsume(records)).isSameAs(records);

        assertThat(arrivals.receivedMs(2)).containsExactly(1_005L, 1_006L);
        assertThat(arrivals.bytes()).as("no key is no byte").isEqualTo(180);
    }

    @Test
    void countsWhatComesAgain() throws Exception {
        KafkaTap tap = opened();
        tap.onConsume(records(5, 6, 7));
        assertThat(arrivals.repeated()).isZero();

        tap.onConsume(records(6, 7, 8));

        assertThat(arrivals.repeated()).isEqualTo(2);
    }

    /** A consumer that something else in the same worker makes from the same settings. */
    @Test
    void belongsToNobodyOutsideOfAnOpening() {
        KafkaTap tap = new KafkaTap();
        tap.configure(Map.of());
        tap.onConsume(records(1));
        assertThat(arrivals.bytes()).isZero();
    }
}
