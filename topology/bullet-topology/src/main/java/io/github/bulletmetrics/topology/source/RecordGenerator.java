package io.github.bulletmetrics.topology.source;

import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.record.avro.TypedAvroBulletRecord;
import com.yahoo.bullet.typesystem.Type;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Makes records of the 92 fields from a seed: the same seed and index give the same record, on any machine. Serialised
 * by Bullet (Avro) a record has about 1.8 KiB.
 *
 * <p>A record is a copy of one of a fixed number of variants, made once, with the fields that differ on every record
 * set anew; so it costs a few microseconds. Maps and lists are shared between records: they are not to be changed.
 * Not thread-safe.
 */
public final class RecordGenerator {
    private static final int DURATION_LIMIT_MS = 100_000;
    /** Times 26 letters, the different values of a string field: few, so that GROUP BY has groups. */
    private static final int STRING_VALUES = 20;
    /** SplitMix's increment: spreads neighbouring indices over all seeds. */
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    private static final String[] KEYS = {"a", "b", "c"};

    private final long seed;
    private final BulletRecord<?>[] variants;

    /**
     * Makes the variants.
     *
     * @param seed what decides every value.
     * @param variants how many different records there are, apart from the fields that always differ; at least 1.
     */
    public RecordGenerator(long seed, int variants) {
        this.seed = seed;
        this.variants = new BulletRecord<?>[variants];
        for (int i = 0; i < variants; i++) {
            this.variants[i] = variant(new SplittableRandom(seed * 1_000_003 + i));
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
        record.setString(RecordFields.PROBE, value);
        record.setLong(RecordFields.PROBE_SEQUENCE, sequence);
        record.setLong(RecordFields.PROBE_DUE, dueMicros);
        return record;
    }

    private BulletRecord<?> record(SplittableRandom random, String id, long eventTimeMs) {
        BulletRecord<?> record = variants[random.nextInt(variants.length)].copy();
        record.setString(RecordFields.RECORD_ID, id);
        record.setLong(RecordFields.EVENT_TIME, eventTimeMs);
        record.setLong(RecordFields.DURATION, (long) random.nextInt(DURATION_LIMIT_MS));
        return record;
    }

    private static BulletRecord<?> variant(SplittableRandom random) {
        BulletRecord<?> record = new TypedAvroBulletRecord();
        RecordFields.all().forEach((name, type) -> set(record, name, type, random));
        record.setString(RecordFields.PROBE, RecordFields.NO_PROBE);
        record.setLong(RecordFields.PROBE_SEQUENCE, -1L);
        record.setLong(RecordFields.PROBE_DUE, -1L);
        return record;
    }

    private static void set(BulletRecord<?> record, String name, Type type, SplittableRandom random) {
        switch (type) {
            case STRING -> record.setString(name, word(random));
            case LONG -> record.setLong(name, 0L);
            case STRING_MAP -> record.setStringMap(name, words(random));
            case LONG_MAP -> record.setLongMap(name, numbers(random));
            case DOUBLE_MAP -> record.setDoubleMap(name, fractions(random));
            case STRING_MAP_LIST -> record.setListOfStringMap(name, listOfWords(random));
            default -> throw new IllegalStateException("No values for fields of type " + type);
        }
    }

    private static String word(SplittableRandom random) {
        return "v-" + (char) ('a' + random.nextInt(26)) + random.nextInt(STRING_VALUES);
    }

    private static Map<String, String> words(SplittableRandom random) {
        Map<String, String> map = new HashMap<>();
        for (String key : KEYS) {
            map.put(key, word(random));
        }
        return map;
    }

    private static Map<String, Long> numbers(SplittableRandom random) {
        Map<String, Long> map = new HashMap<>();
        for (String key : KEYS) {
            map.put(key, (long) random.nextInt(1_000_000));
        }
        return map;
    }

    private static Map<String, Double> fractions(SplittableRandom random) {
        Map<String, Double> map = new HashMap<>();
        for (String key : KEYS) {
            map.put(key, random.nextInt(10_000) / 100.0);
        }
        return map;
    }

    private static List<Map<String, String>> listOfWords(SplittableRandom random) {
        List<Map<String, String>> list = new ArrayList<>();
        list.add(words(random));
        list.add(words(random));
        return list;
    }
}
