package io.github.bulletmetrics.topology.source;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.yahoo.bullet.dsl.converter.JSONBulletRecordConverter;
import com.yahoo.bullet.record.BulletRecord;

import org.junit.jupiter.api.Test;

import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

class RecordJsonTest {
    private static final String DSL_SCHEMA = "generated_records_dsl_schema.json";

    @Test
    void bulletDslMakesTheSameRecordOfIt() throws Exception {
        RecordGenerator generator = new RecordGenerator(1, 8);
        JSONBulletRecordConverter converter = new JSONBulletRecordConverter(DSL_SCHEMA);
        for (BulletRecord<?> record : new BulletRecord<?>[] {
            generator.background(5, 1_795_000_000_123L), generator.probe("probe-1", 77, 1_795_000_000_123_456L,
                    1_795_000_000_124L)}) {

            BulletRecord<?> converted = converter.convert(RecordJson.of(record));

            RecordFields.all().forEach((name, type) -> {
                assertThat(converted.typedGet(name).getType()).as(name).isEqualTo(type);
                assertThat((Object) converted.typedGet(name).getValue()).as(name)
                        .isEqualTo(record.typedGet(name).getValue());
            });
        }
    }

    @Test
    void itsSchemasNameEveryFieldAndThatOfKafkaTheTimestampsToo() {
        Map<String, String> fields = new LinkedHashMap<>();
        RecordFields.all().forEach((name, type) -> fields.put(name, type.toString()));
        assertThat(types(resource(DSL_SCHEMA, JsonObject.class).getAsJsonArray("fields"))).isEqualTo(fields);

        for (String stage : new String[] {"kafka_received_ms", "bullet_received_ms", "bullet_filtered_ms"}) {
            fields.put(stage, "LONG");
        }
        assertThat(types(resource("generated_records_kafka_schema.json", JsonArray.class))).isEqualTo(fields);
    }

    private static <T> T resource(String name, Class<T> type) {
        return new Gson().fromJson(new InputStreamReader(RecordJson.class.getResourceAsStream("/" + name),
                StandardCharsets.UTF_8), type);
    }

    private static Map<String, String> types(JsonArray fields) {
        Map<String, String> types = new LinkedHashMap<>();
        for (JsonElement field : fields) {
            types.put(field.getAsJsonObject().get("name").getAsString(),
                    field.getAsJsonObject().get("type").getAsString());
        }
        return types;
    }
}
