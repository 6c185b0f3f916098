package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import io.github.bulletmetrics.storm.collector.Ledger;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.State;
import io.github.bulletmetrics.storm.send.FakeTransport.FakeStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A collector at one address that gives states, or none, and has bad days. What it knows of the topology is the list of
 * the values that it took, of which a state is the beginning: so a value that is lost or doubled by a move shows.
 */
final class StatefulCollector {
    private static final int VALUE_BYTES = Double.BYTES;

    /** What broke the protocol. */
    final List<String> breaches = new ArrayList<>();
    /** Who opened under which generation, of all collectors. */
    private final Map<Long, StatefulCollector> owners;
    private final Random random;

    // On disk. Values up to each sequence that is in the journal, of this generation; the first is the state's.
    private long generation;
    private final TreeMap<Long, Integer> journal = new TreeMap<>();
    private final List<Double> values = new ArrayList<>();

    // Of the stream.
    private FakeStream stream;
    private long offered;
    private Ledger.StreamIds ids;
    private boolean opened;
    private boolean wantsState;
    private ByteString state = ByteString.EMPTY;
    private int statesRead;
    private int batchesRead;
    private long toAcknowledge;
    private final TreeSet<Long> refused = new TreeSet<>();
    private int awayFor;

    StatefulCollector(Random random, Map<Long, StatefulCollector> owners) {
        this.random = random;
        this.owners = owners;
    }

    long generation() {
        return generation;
    }

    List<Double> values() {
        return values;
    }

    /** A sender began a stream. */
    void begin(FakeStream begun, long ofGeneration) {
        stream = begun;
        offered = ofGeneration;
        ids = new Ledger().newStream(false);
        opened = false;
        state = ByteString.EMPTY;
        statesRead = 0;
        batchesRead = 0;
        toAcknowledge = 0;
        refused.clear();
    }

    /** One turn. */
    void act(boolean wild) {
        if (stream == null || stream.cancelled != null) {
            stream = null;
            awayFor = Math.max(0, awayFor - 1);
            return;
        }
        int dice = wild ? random.nextInt(200) : 200;
        if (awayFor > 0 && wild) {
            awayFor--;
            end(StreamEnd.Kind.UNREACHABLE);
        } else if (dice < 3) {
            end(StreamEnd.Kind.LOST);
        } else if (dice < 5) {
            awayFor = random.nextInt(60);
            end(StreamEnd.Kind.LOST);
        } else if (dice < 6) {
            forget();
            end(StreamEnd.Kind.LOST);
        } else if (!opened) {
            open();
        } else {
            stream.ready = !wild || random.nextInt(10) > 0;
            read(wild ? random.nextInt(3) : Integer.MAX_VALUE, wild);
            answer(wild);
        }
    }

    private void end(StreamEnd.Kind how) {
        stream.end(how);
        stream = null;
    }

    /** The disk is gone. */
    private void forget() {
        generation = 0;
        journal.clear();
        values.clear();
    }

    private void open() {
        StatefulCollector owner = owners.putIfAbsent(offered, this);
        if (owner != null && owner != this) {
            breaches.add("generation " + offered + " at two collectors");
        }
        boolean known = offered == generation;
        wantsState = !known && offered > 1;
        if (!known && !wantsState) {
            takeUp(0);
        }
        opened = true;
        stream.sayOpenedGivingStates(1 + random.nextInt(8), wantsState, wantsState ? 0 : journal.lastKey());
    }

    private void read(int most, boolean mayRefuse) {
        for (int n = 0; n < most && statesRead < stream.states.size(); n++) {
            readState(stream.states.get(statesRead), stream.batchesBefore.get(statesRead));
            statesRead++;
        }
        for (int n = 0; n < most && !wantsState && batchesRead < stream.sent.size(); n++) {
            readBatch(stream.sent.get(batchesRead++), mayRefuse);
        }
    }

    private void readState(State part, int batchesBefore) {
        if (!wantsState || batchesBefore > 0) {
            breaches.add("a state that is not wanted, or behind " + batchesBefore + " batches");
        }
        state = state.concat(part.getData());
        if (part.getLast()) {
            wantsState = false;
            takeUp(part.getSequence());
        }
    }

    /** The generation begins, with what the state has. */
    private void takeUp(long upTo) {
        forget();
        generation = offered;
        for (ByteBuffer bytes = state.asReadOnlyByteBuffer(); bytes.hasRemaining();) {
            values.add(bytes.getDouble());
        }
        journal.put(upTo, values.size());
    }

    private void readBatch(Batch batch, boolean mayRefuse) {
        refused.headSet(batch.getOldestHeldSequence()).clear();
        boolean olderIsRefused = !refused.headSet(batch.getSequence()).isEmpty();
        Ledger one = new Ledger();
        if (olderIsRefused || mayRefuse && random.nextInt(10) == 0) {
            one.take(ids, batch);
            refused.add(batch.getSequence());
            stream.sayFull(batch.getSequence(), random.nextInt(1_000));
            return;
        }
        refused.remove(batch.getSequence());
        one.take(ids, batch);
        breaches.addAll(one.breaches());
        if (batch.getSequence() > journal.lastKey() + 1) {
            breaches.add("batch " + batch.getSequence() + " after " + journal.lastKey());
        } else if (batch.getSequence() == journal.lastKey() + 1) {
            one.samples().stream().map(Ledger.Sample::value).sorted().forEach(values::add);
            journal.put(batch.getSequence(), values.size());
        }
        toAcknowledge = Math.max(toAcknowledge, batch.getSequence());
    }

    private void answer(boolean wild) {
        if (toAcknowledge > 0 && (!wild || random.nextInt(3) == 0)) {
            stream.sayAcknowledged(toAcknowledge);
            toAcknowledge = 0;
        }
        if (!wantsState && wild && random.nextInt(20) == 0) {
            List<Long> sequences = new ArrayList<>(journal.keySet());
            long upTo = sequences.get(random.nextInt(sequences.size()));
            if (journal.get(upTo) > 0) { // one without bytes would say that there is none
                giveState(upTo);
            }
        }
    }

    /** In some parts, the last of which the stream may not live to see. */
    private void giveState(long upTo) {
        int count = journal.get(upTo);
        ByteBuffer bytes = ByteBuffer.allocate(count * VALUE_BYTES);
        values.subList(0, count).forEach(bytes::putDouble);
        ByteString whole = ByteString.copyFrom(bytes.array());
        int at = 0;
        while (at < whole.size() && random.nextInt(3) > 0) {
            int to = at + 1 + random.nextInt(whole.size() - at);
            stream.sayPart(upTo, whole.substring(at, to), false);
            at = to;
        }
        if (random.nextInt(10) > 0) {
            stream.sayPart(upTo, whole.substring(at), true);
        } else if (at > 0) {
            end(StreamEnd.Kind.LOST);
        }
    }
}
