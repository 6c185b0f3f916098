package io.github.bulletmetrics.topology.source;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.record.avro.LazyBulletAvro;
import com.yahoo.bullet.typesystem.Schema;
import com.yahoo.bullet.typesystem.Type;

import org.junit.jupiter.api.Test;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

class RecordGeneratorTest {
    private final RecordGenerator generator = new RecordGenerator(42, 64);

    @Test
    void aRecordHasTheFieldsOfTheDocument() {
        BulletRecord<?> record = generator.background(7, 1_000);

        Map<Type, Long> kinds = RecordFields.all().keySet().stream()
            .collect(Collectors.groupingBy(name -> kind(record.typedGet(name).getType()), Collectors.counting()));
        assertThat(kinds).isEqualTo(Map.of(Type.STRING, 62L, Type.LONG, 4L, Type.UNKNOWN_MAP, 23L, Type.UNKNOWN_LIST,
                3L));
        assertThat(record.fieldCount()).isEqualTo(92);
        RecordFields.all().forEach((name, type) -> assertThat(record.typedGet(name).getType()).as(name).isEqualTo(
                type));
    }

    private static Type kind(Type type) {
        return Type.isMap(type) ? Type.UNKNOWN_MAP : Type.isList(type) ? Type.UNKNOWN_LIST : type;
    }

    @Test
    void aRecordSerialisedHasAboutTheDocumentsSize() {
        double mean = 0;
        for (int i = 0; i < 200; i++) {
            mean += Bytes.of(generator.background(i, System.currentTimeMillis())) / 200.0;
        }
        assertThat(mean / 1024).as("KiB").isBetween(1.75, 1.85);
    }

    /** Serialises as TypedAvroBulletRecord does, whose data are Avro's. */
    private static final class Bytes extends LazyBulletAvro {
        private static final long serialVersionUID = 1L;

        static int of(BulletRecord<?> record) throws IllegalStateException {
            Map<String, Object> data = new java.util.HashMap<>(record.toUnmodifiableDataMap());
            try {
                return new Bytes().serialize(data).length;
            } catch (java.io.IOException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    @Test
    void theSameSeedAndIndexGiveTheSameRecord() {
        RecordGenerator twin = new RecordGenerator(42, 64);
        RecordGenerator stranger = new RecordGenerator(43, 64);
        for (long index = 0; index < 100; index++) {
            assertThat(generator.background(index, 5)).isEqualTo(twin.background(index, 5));
            assertThat(generator.background(index, 5)).isNotEqualTo(stranger.background(index, 5));
            assertThat(generator.probe("p", index, 9, 5)).isEqualTo(twin.probe("p", index, 9, 5));
        }
    }

    @Test
    void aRecordTakenIsNotChangedByTheNext() {
        BulletRecord<?> first = generator.background(1, 5);
        BulletRecord<?> copy = first.copy();
        for (int i = 0; i < 1_000; i++) {
            generator.probe("p", i, i, i);
        }
        assertThat(first).isEqualTo(copy);
    }

    /** Of one variant, so that their values are equal. */
    @Test
    void noTwoRecordsShareAValue() {
        RecordGenerator ofOneVariant = new RecordGenerator(42, 1);
        Map<Object, Object> first = new IdentityHashMap<>();
        collect(ofOneVariant.background(1, 5).toUnmodifiableDataMap().values(), first);
        collect(ofOneVariant.probe("p", 1, 9, 5).toUnmodifiableDataMap().values(), first);
        int before = first.size();
        Map<Object, Object> second = new IdentityHashMap<>();
        collect(ofOneVariant.background(2, 5).toUnmodifiableDataMap().values(), second);
        collect(ofOneVariant.probe("p", 2, 9, 5).toUnmodifiableDataMap().values(), second);
        assertThat(before).as("61 strings, 23 maps, 3 lists of two, with three keys and values each")
                .isGreaterThan(2 * (61 + 23 * 4 + 3));
        second.keySet().removeIf(value -> !first.containsKey(value));
        assertThat(second.keySet()).as("what both have").isEmpty();
    }

    /** All objects of values, but for the boxes of longs, of which the JDK keeps the small ones. */
    private static void collect(Iterable<?> values, Map<Object, Object> into) {
        for (Object value : values) {
            if (!(value instanceof Long)) {
                into.put(value, value);
            }
            if (value instanceof List<?> list) {
                collect(list, into);
            } else if (value instanceof Map<?, ?> map) {
                collect(map.keySet(), into);
                collect(map.values(), into);
            }
        }
    }

    @Test
    void theSchemaInTheJarIsThatOfTheRecords() {
        Schema schema = new Schema("generated_records_schema.json");
        assertThat(schema.size()).isEqualTo(92);
        RecordFields.all().forEach((name, type) -> assertThat(schema.getType(name)).as(name).isEqualTo(type));
    }
}
