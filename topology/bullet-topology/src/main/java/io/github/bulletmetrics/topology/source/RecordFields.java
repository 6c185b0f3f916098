package io.github.bulletmetrics.topology.source;

import com.yahoo.bullet.typesystem.Schema;
import com.yahoo.bullet.typesystem.Type;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The 92 fields of a generated record: 62 strings, 4 longs, 23 maps and 3 lists of maps, as in the tests of the
 * document "Tuning and Performance of Bullet in Storm". Names and values are a made-up web shop's; a few fields carry
 * meaning.
 */
public final class RecordFields {
    /** A string: the value of the probe that a record belongs to, {@link #NO_PROBE} on any other record. */
    public static final String PROBE = "probe";
    /** A string, different on every record of a topology: {@code <seed>-<index>}. */
    public static final String RECORD_ID = "record_id";
    /** A long: when the record was made, ms since 1970. */
    public static final String EVENT_TIME = "event_time_ms";
    /**
     * A long: which record of its probe this is, counted over the whole topology as {@link Share} has it: unique, and
     * without holes while the probe's rate stays. -1 on any other record.
     */
    public static final String PROBE_SEQUENCE = "probe_sequence";
    /** A long: the microsecond since 1970 at which the probe's record was due; -1 on any other record. */
    public static final String PROBE_DUE = "probe_due_us";
    /** A long, 0 to 99,999, evenly spread. */
    public static final String DURATION = "duration_ms";
    /** What {@link #PROBE} holds on a record that belongs to no probe. */
    public static final String NO_PROBE = "none";

    private static final String[] STRINGS = {
        PROBE, RECORD_ID, "session", "user", "visitor", "account", "tenant", "host", "pod", "zone", "region", "country",
        "state", "city", "postcode", "locale", "language", "timezone", "carrier", "network", "ip", "browser", "engine",
        "os", "device", "model", "vendor", "screen", "app", "version", "build", "channel", "page", "section", "title",
        "path", "query", "referrer", "campaign", "source", "medium", "term", "creative", "ad", "slot", "bidder",
        "currency", "product", "sku", "brand", "category", "color", "size", "store", "payment", "coupon", "shipping",
        "status", "event", "action", "label", "experiment",
    };
    private static final String[] LONGS = {EVENT_TIME, PROBE_SEQUENCE, PROBE_DUE, DURATION};
    private static final String[] STRING_MAPS = {
        "tags", "headers", "cookies", "consent", "flags", "utm", "geo", "client", "server", "cart", "attributes",
    };
    private static final String[] LONG_MAPS = {
        "timings", "counts", "bytes", "errors", "retries", "scores", "limits", "quotas",
    };
    private static final String[] DOUBLE_MAPS = {"prices", "ratios", "weights", "coords"};
    private static final String[] LISTS = {"items", "links", "offers"};

    private static final Map<String, Type> TYPES = types();

    private RecordFields() {
    }

    /**
     * Every field with its type.
     *
     * @return an unmodifiable map in a fixed order.
     */
    public static Map<String, Type> all() {
        return TYPES;
    }

    /**
     * The same as a schema, with which BQL finds unknown fields and wrong types.
     *
     * @return a new schema.
     */
    public static Schema schema() {
        List<Schema.PlainField> fields = new ArrayList<>();
        TYPES.forEach((name, type) -> fields.add(new Schema.PlainField(name, type)));
        return new Schema(fields);
    }

    private static Map<String, Type> types() {
        Map<String, Type> types = new LinkedHashMap<>();
        put(types, Type.STRING, STRINGS);
        put(types, Type.LONG, LONGS);
        put(types, Type.STRING_MAP, STRING_MAPS);
        put(types, Type.LONG_MAP, LONG_MAPS);
        put(types, Type.DOUBLE_MAP, DOUBLE_MAPS);
        put(types, Type.STRING_MAP_LIST, LISTS);
        return Collections.unmodifiableMap(types);
    }

    private static void put(Map<String, Type> types, Type type, String... names) {
        for (String name : names) {
            types.put(name, type);
        }
    }
}
