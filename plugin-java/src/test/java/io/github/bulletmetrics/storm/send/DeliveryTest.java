package io.github.bulletmetrics.storm.send;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.storm.collector.Ledger;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.HistogramSample;
import io.github.bulletmetrics.storm.send.FakeTransport.FakeStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random streams that break, refuse, say "full", lose what is under way and acknowledge late; whatever they do, at the
 * end the collector has every sample that the queue took, once. Some streams are those of a collector that takes
 * blocks, some are not.
 */
class DeliveryTest {
    private static final int STEPS = 3_000;

    @Test
    void nothingIsLostOrDoubledWhateverStreamsDo() {
        for (int run = 0; run < 30; run++) {
            long seed = new Random().nextLong();
            deliver(seed, 50_000);
        }
    }

    @Test
    void nothingThatASmallQueueTookIsLostAndTheRestIsCounted() {
        for (int run = 0; run < 30; run++) {
            long seed = new Random().nextLong();
            deliver(seed, 200);
        }
    }

    /** Seeds that once failed, and one to see at a glance that the test still runs as it did. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void seedsOfOld(long seed) {
        deliver(seed, 500);
    }

    private static void deliver(long seed, int capacity) {
        Random random = new Random(seed);
        Rig rig = new Rig(capacity, 1 + random.nextInt(30), "a:1", "b:2");
        rig.options.firstWindow = 1 + random.nextInt(4);
        RandomCollector collector = new RandomCollector(random);
        List<String> taken = new ArrayList<>();
        List<Long> distributions = new ArrayList<>();
        double value = 0;
        long refused = 0;
        for (int step = 0; step < STEPS; step++) {
            for (int n = random.nextInt(4); n > 0; n--) {
                int series = random.nextInt(20);
                if (series == 0 && rig.offerDistribution((long) value)) {
                    distributions.add((long) value);
                    value++;
                    continue;
                }
                int columns = 1 + random.nextInt(6);
                int rows = 1 + random.nextInt(3);
                double[] values = new double[columns * rows];
                List<String> block = new ArrayList<>();
                for (int cell = 0; cell < values.length; cell++) {
                    boolean absent = cell > 0 && random.nextInt(8) == 0;
                    values[cell] = absent ? Double.NaN : value;
                    if (!absent) {
                        block.add("metric" + (series + cell / rows) + "=" + value++);
                    }
                }
                if (rig.offerBlock(series, columns, rows, values)) {
                    taken.addAll(block);
                } else {
                    rig.losses.droppedBetween(DropReason.DROP_REASON_QUEUE_FULL, block.size(), 1, 1);
                    refused += block.size();
                }
            }
            rig.pass(random.nextInt(300));
            collector.act(rig.transport, step < STEPS / 2);
        }
        for (int calm = 0; calm < 50_000 && !(rig.outbox.isEmpty() && calm > 100); calm++) {
            rig.pass(100);
            collector.calm(rig.transport);
        }
        assertThat(rig.outbox.isEmpty()).as("seed %d: all is acknowledged at last", seed).isTrue();
        assertThat(collector.ledger.breaches()).as("seed %d", seed).isEmpty();
        assertThat(firstDifference(taken, inOrder(collector.ledger.samples()))).as("seed %d", seed).isNull();
        assertThat(collector.ledger.histograms()).extracting(HistogramSample::getCount).as("seed %d", seed)
                .isEqualTo(distributions);
        assertThat(collector.ledger.drops().getOrDefault(DropReason.DROP_REASON_QUEUE_FULL, 0L)).as("seed %d", seed)
                .isEqualTo(refused);
        assertThat(rig.losses.total()).as("seed %d", seed).isEqualTo(refused);
        assertThat(rig.queue.released()).as("seed %d", seed).isEqualTo(taken.size() + distributions.size());
    }

    /** Of their values, which rise as they are offered. Within a batch there is no order. */
    private static List<Ledger.Sample> inOrder(List<Ledger.Sample> samples) {
        samples.sort(Comparator.comparingDouble(Ledger.Sample::value));
        return samples;
    }

    private static String firstDifference(List<String> taken, List<Ledger.Sample> delivered) {
        for (int i = 0; i < Math.max(taken.size(), delivered.size()); i++) {
            String expected = i < taken.size() ? taken.get(i) : "nothing";
            String actual = i < delivered.size() ? delivered.get(i).name() + "=" + delivered.get(i).value() : "nothing";
            if (!expected.equals(actual)) {
                return "sample " + i + " of " + taken.size() + " is " + actual + ", not " + expected;
            }
        }
        return null;
    }

    /** The collector's side of all streams: one at a time is alive, as the exporter keeps one. */
    private static final class RandomCollector {
        final Ledger ledger = new Ledger();
        private final Random random;
        private FakeStream stream;
        private Ledger.StreamIds ids;
        private boolean takesBlocks;
        private boolean opened;
        private boolean ended;
        private int read;
        private long unacknowledged;
        /** Refused on this stream and not taken since; as long as one is held, none after it is taken. */
        private final TreeSet<Long> refused = new TreeSet<>();

        RandomCollector(Random random) {
            this.random = random;
        }

        void act(FakeTransport transport, boolean wild) {
            look(transport);
            if (ended) {
                return;
            }
            int dice = random.nextInt(wild ? 100 : 400);
            if (dice < 4) {
                // What was sent and not read is lost with it, and so are acknowledgements not yet said.
                end(StreamEnd.Kind.LOST);
            } else if (dice < 6 && !opened) {
                end(random.nextBoolean() ? StreamEnd.Kind.BUSY : StreamEnd.Kind.DENIED);
            } else if (!opened) {
                open(1 + random.nextInt(8));
            } else {
                stream.ready = random.nextInt(10) > 0;
                readSome(random.nextInt(3), wild);
                if (random.nextInt(3) == 0) {
                    acknowledge();
                }
            }
        }

        void calm(FakeTransport transport) {
            look(transport);
            if (ended) {
                return;
            }
            if (!opened) {
                open(4);
            }
            stream.ready = true;
            readSome(Integer.MAX_VALUE, false);
            acknowledge();
        }

        private void look(FakeTransport transport) {
            if (!transport.streams.isEmpty() && transport.last() != stream) {
                stream = transport.last();
                takesBlocks = random.nextBoolean();
                ids = ledger.newStream(takesBlocks);
                opened = false;
                ended = false;
                read = 0;
                unacknowledged = 0;
                refused.clear();
            }
            ended = ended || stream == null || stream.cancelled != null;
        }

        private void open(int window) {
            stream.sayOpened(window, 1 << 20, takesBlocks);
            opened = true;
        }

        private void end(StreamEnd.Kind kind) {
            ended = true;
            stream.end(kind);
        }

        private void readSome(int batches, boolean mayRefuse) {
            for (int n = 0; n < batches && read < stream.sent.size(); n++) {
                Batch batch = stream.sent.get(read++);
                refused.headSet(batch.getOldestHeldSequence()).clear();
                boolean olderIsRefused = !refused.headSet(batch.getSequence()).isEmpty();
                if (olderIsRefused || mayRefuse && random.nextInt(10) == 0) {
                    refused.add(batch.getSequence());
                    stream.sayFull(batch.getSequence(), random.nextInt(1_000));
                } else {
                    refused.remove(batch.getSequence());
                    ledger.take(ids, batch);
                    unacknowledged = Math.max(unacknowledged, batch.getSequence());
                }
            }
        }

        private void acknowledge() {
            if (unacknowledged > 0) {
                stream.sayAcknowledged(unacknowledged);
                unacknowledged = 0;
            }
        }
    }
}
