package io.github.bulletmetrics.topology.source;

import com.yahoo.bullet.record.BulletRecord;

import java.util.SplittableRandom;

/**
 * Makes records of the 92 fields from a seed: the same seed and index give the same record, on any machine. Serialised
 * by Bullet (Avro) a record has about 1.8 KiB.
 *
 * <p>A record has the values of one of a fixed number of variants, chosen once, and beside them those that differ on
 * every record. What it holds is its own: no two records share a string, a map or a list. Not thread-safe.
 */
public final class RecordGenerator {
    private static final int DURATION_LIMIT_MS = 100_000;
    /** SplitMix's increment: spreads neighbouring indices over all seeds. */
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private final long seed;
    private final RecordTemplate[] variants;

    /**
     * Makes the variants.
     *
     * @param seed what decides every value.
     * @param variants how many different records there are, apart from the fields that always differ; at least 1.
     */
    public RecordGenerator(long seed, int variants) {
        this.seed = seed;
        this.variants = new RecordTemplate[variants];
        for (int i = 0; i < variants; i++) {
            this.variants[i] = new RecordTemplate(new SplittableRandom(seed * 1_000_003 + i));
        }
    }

    /**
     * A record of no probe.
     *
     * @param index which record of the topology it is.
     * @param eventTimeMs what {@link RecordFields#EVENT_TIME} says, ms since 1970.
     * @return a new record.
     */
    public BulletRecord<?> background(long index, long eventTimeMs) {
        SplittableRandom random = new SplittableRandom(seed ^ (index * GOLDEN));
        return record(random, seed + "-" + index, eventTimeMs);
    }

    /**
     * A record of a probe.
     *
     * @param value what {@link RecordFields#PROBE} says.
     * @param sequence what {@link RecordFields#PROBE_SEQUENCE} says.
     * @param dueMicros what {@link RecordFields#PROBE_DUE} says.
     * @param eventTimeMs what {@link RecordFields#EVENT_TIME} says, ms since 1970.
     * @return a new record.
     */
    public BulletRecord<?> probe(String value, long sequence, long dueMicros, long eventTimeMs) {
        SplittableRandom random = new SplittableRandom(seed ^ value.hashCode() ^ (sequence * GOLDEN));
        BulletRecord<?> record = record(random, seed + "-" + value + "-" + sequence, eventTimeMs);
        record.setString(RecordFields.PROBE, new String(value.toCharArray()));
        record.setLong(RecordFields.PROBE_SEQUENCE, sequence);
        record.setLong(RecordFields.PROBE_DUE, dueMicros);
        return record;
    }

    private BulletRecord<?> record(SplittableRandom random, String id, long eventTimeMs) {
        BulletRecord<?> record = variants[random.nextInt(variants.length)].record();
        record.setString(RecordFields.RECORD_ID, id);
        record.setLong(RecordFields.EVENT_TIME, eventTimeMs);
        record.setLong(RecordFields.DURATION, (long) random.nextInt(DURATION_LIMIT_MS));
        return record;
    }
}
