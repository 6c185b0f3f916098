package io.github.bulletmetrics.storm.send;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.storm.send.FakeTransport.FakeStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Collectors that give states and are cut off, killed, away, robbed of their disks, in the midst of a state too, while
 * the sender moves and returns. At the end the one that it is at has every sample that the queue took, once, in order,
 * by whatever collectors it went.
 */
class MovesDeliveryTest {
    private static final int STEPS = 3_000;

    @Test
    void nothingIsLostOrDoubledWhereverTheSenderGoes() {
        int moves = 0;
        for (int run = 0; run < 30; run++) {
            moves += deliver(new Random().nextLong());
        }
        assertThat(moves).as("the runs have enough of them").isGreaterThan(300);
    }

    /** Seeds that once failed, and some to see at a glance that the test still runs as it did. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, -578248138881498641L, 4916117058064297556L})
    void seedsOfOld(long seed) {
        deliver(seed);
    }

    /** Plays a run, and returns how many generations had a collector. */
    private static int deliver(long seed) {
        Random random = new Random(seed);
        Rig rig = new Rig(1_000_000, 1 + random.nextInt(30), "a:1", "b:1", "c:1");
        rig.options.firstWindow = 1 + random.nextInt(4);
        Map<Long, StatefulCollector> owners = new HashMap<>();
        Map<String, StatefulCollector> collectors = new HashMap<>();
        for (String address : List.of("a:1", "b:1", "c:1")) {
            collectors.put(address, new StatefulCollector(random, owners));
        }
        List<Double> taken = new ArrayList<>();
        int streams = 0;
        for (int step = 0; step < STEPS || !rig.outbox.isEmpty() && step < 10 * STEPS; step++) {
            boolean wild = step < STEPS - 500;
            for (int n = random.nextInt(4); n > 0 && step < STEPS; n--) {
                assertThat(rig.offer(random.nextInt(20), taken.size())).isTrue();
                taken.add((double) taken.size());
            }
            rig.pass(random.nextInt(300));
            for (; streams < rig.transport.streams.size(); streams++) {
                FakeStream begun = rig.transport.streams.get(streams);
                collectors.get(rig.transport.addresses.get(streams)).begin(begun, rig.transport.opens.get(streams)
                        .getGeneration());
            }
            for (StatefulCollector collector : collectors.values()) {
                collector.act(wild);
            }
        }
        collectors.values().forEach(collector -> assertThat(collector.breaches).as("seed %d", seed).isEmpty());
        assertThat(rig.outbox.isEmpty()).as("seed %d: all is in a journal at last", seed).isTrue();
        StatefulCollector last = collectors.values().stream().max(
                Comparator.comparingLong(StatefulCollector::generation)).orElseThrow();
        assertThat(last.values()).as("seed %d", seed).isEqualTo(taken);
        assertThat(rig.losses.total()).as("seed %d", seed).isZero();
        return owners.size();
    }
}
