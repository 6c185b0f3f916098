package io.github.bulletmetrics.topology.replay;

import com.yahoo.bullet.pubsub.PubSubMessage;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * The queries of one join bolt task in batches. Their number is a power of two: it doubles when a batch would have more
 * than its size on average, and halves when less than a quarter, as in Bullet. A query's batch follows from its id.
 */
final class Partition {
    /** Fibonacci hashing: the partition has used the hash's low bits up, the batch needs others. */
    private static final int GOLDEN_RATIO = 0x9E3779B9;

    private final int batchSize;
    private Batch[] batches = empty(1);
    private int size;

    Partition(int batchSize) {
        this.batchSize = batchSize;
    }

    int size() {
        return size;
    }

    void add(String id, PubSubMessage message) {
        if (batch(id).add(id, message)) {
            size++;
            fit();
        }
    }

    void remove(String id) {
        if (batch(id).remove(id)) {
            size--;
            fit();
        }
    }

    void clear() {
        batches = empty(1);
        size = 0;
    }

    /** What is to be sent, at least one batch. */
    List<Object> sendable(BatchFormat format) {
        return Arrays.stream(batches).map(batch -> batch.sendable(format)).toList();
    }

    private void fit() {
        int count = fitting(batches.length);
        if (count != batches.length) {
            Batch[] before = batches;
            batches = empty(count);
            Arrays.stream(before)
                    .forEach(batch -> batch.queries().forEach((id, message) -> batch(id).add(id, message)));
        }
    }

    private int fitting(int count) {
        long capacity = (long) count * batchSize;
        if (size > capacity) {
            return count * 2;
        }
        return count > 1 && size < capacity / 4 ? count / 2 : count;
    }

    private Batch batch(String id) {
        int bits = Integer.numberOfTrailingZeros(batches.length);
        return bits == 0 ? batches[0] : batches[id.hashCode() * GOLDEN_RATIO >>> Integer.SIZE - bits];
    }

    private static Batch[] empty(int count) {
        return Stream.generate(Batch::new).limit(count).toArray(Batch[]::new);
    }
}
