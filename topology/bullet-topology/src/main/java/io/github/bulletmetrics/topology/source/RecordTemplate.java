package io.github.bulletmetrics.topology.source;

import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.record.avro.LazyBulletAvro;
import com.yahoo.bullet.record.avro.TypedAvroBulletRecord;
import com.yahoo.bullet.typesystem.Type;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.IntFunction;

/**
 * The values of one variant, as text and numbers that no record holds: each record that is filled from it gets strings,
 * boxes, maps and lists of its own, as one that was read from outside has them. Heap, garbage and caches of a worker
 * are then those of life.
 */
final class RecordTemplate {
    /** Times 26 letters, the different values of a string field: few, so that GROUP BY has groups. */
    private static final int STRING_VALUES = 20;
    private static final Text[] KEYS = {new Text("a"), new Text("b"), new Text("c")};

    private static final Map<String, Type> TYPES = RecordFields.all();
    /** All fields and no values: its copies have room for them from the start. */
    private static final LazyBulletAvro FIELDS = new LazyBulletAvro();

    private final String[] names = TYPES.keySet().toArray(new String[0]);
    private final Value[] values = new Value[names.length];

    static {
        TYPES.keySet().forEach(name -> FIELDS.set(name, null));
    }

    /** Makes a value that is its record's own. */
    private interface Value {
        Serializable make();
    }

    /** A text of Latin letters; {@code new String(String)} would share its bytes. */
    private record Text(byte[] bytes) {
        Text(String text) {
            this(text.getBytes(StandardCharsets.ISO_8859_1));
        }

        String copy() {
            return new String(bytes, StandardCharsets.ISO_8859_1);
        }
    }

    RecordTemplate(SplittableRandom random) {
        for (int i = 0; i < names.length; i++) {
            Value drawn = value(TYPES.get(names[i]), random);
            values[i] = switch (names[i]) {
                case RecordFields.PROBE -> new Text(RecordFields.NO_PROBE)::copy;
                case RecordFields.PROBE_SEQUENCE, RecordFields.PROBE_DUE -> () -> -1L;
                default -> drawn;
            };
        }
    }

    /**
     * A new record, of no probe; the other longs are 0. Not by the record's setters: they look at every value for its
     * type, which is known here, and take ten times as long.
     */
    BulletRecord<?> record() {
        LazyBulletAvro data = FIELDS.copy();
        for (int i = 0; i < names.length; i++) {
            data.set(names[i], values[i].make());
        }
        return new TypedAvroBulletRecord(new HashMap<>(TYPES), data);
    }

    private static Value value(Type type, SplittableRandom random) {
        return switch (type) {
            case STRING -> word(random)::copy;
            case LONG -> () -> 0L;
            case STRING_MAP -> {
                Text[] words = words(random);
                yield () -> map(words);
            }
            case LONG_MAP -> {
                int[] numbers = numbers(random, 1_000_000);
                yield () -> map(i -> (long) numbers[i]);
            }
            case DOUBLE_MAP -> {
                int[] hundredths = numbers(random, 10_000);
                yield () -> map(i -> hundredths[i] / 100.0);
            }
            case STRING_MAP_LIST -> {
                Text[] first = words(random);
                Text[] second = words(random);
                yield () -> new ArrayList<>(List.of(map(first), map(second)));
            }
            default -> throw new IllegalStateException("No values for fields of type " + type);
        };
    }

    private static Text word(SplittableRandom random) {
        return new Text("v-" + (char) ('a' + random.nextInt(26)) + random.nextInt(STRING_VALUES));
    }

    private static Text[] words(SplittableRandom random) {
        Text[] words = new Text[KEYS.length];
        for (int i = 0; i < words.length; i++) {
            words[i] = word(random);
        }
        return words;
    }

    private static int[] numbers(SplittableRandom random, int limit) {
        int[] numbers = new int[KEYS.length];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = random.nextInt(limit);
        }
        return numbers;
    }

    private static HashMap<String, String> map(Text[] words) {
        return map(i -> words[i].copy());
    }

    private static <T> HashMap<String, T> map(IntFunction<T> valueOfKey) {
        HashMap<String, T> map = new HashMap<>();
        for (int i = 0; i < KEYS.length; i++) {
            map.put(KEYS[i].copy(), valueOfKey.apply(i));
        }
        return map;
    }
}
