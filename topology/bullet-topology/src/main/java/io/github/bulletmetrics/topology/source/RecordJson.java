package io.github.bulletmetrics.topology.source;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.yahoo.bullet.record.BulletRecord;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A record as JSON, as bullet-dsl's JSONBulletRecordConverter reads it: an object with a member for each field. JSON
 * has one kind of number; which are longs again is for the converter's schema to say
 * ({@code generated_records_dsl_schema.json}).
 */
final class RecordJson {
    private static final Gson GSON = new GsonBuilder().disableHtmlEscaping().create();

    private RecordJson() {
    }

    static String of(BulletRecord<?> record) {
        Map<String, Serializable> fields = new LinkedHashMap<>();
        for (String name : RecordFields.all().keySet()) {
            fields.put(name, record.typedGet(name).getValue());
        }
        return GSON.toJson(fields);
    }
}
