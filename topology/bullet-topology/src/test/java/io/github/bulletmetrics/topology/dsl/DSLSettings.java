package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.dsl.BulletDSLConfig;
import com.yahoo.bullet.dsl.converter.MapBulletRecordConverter;
import com.yahoo.bullet.storm.BulletStormConfig;

import java.util.Map;

/** Settings of DSL sources, and messages for them. */
public final class DSLSettings {
    private DSLSettings() {
    }

    /** Reads what {@link ListConnector} is given, and converts maps. */
    public static BulletStormConfig ofLists() {
        return with(Map.of());
    }

    static BulletStormConfig with(Map<String, Object> more) {
        BulletStormConfig config = new BulletStormConfig();
        config.set(BulletStormConfig.DSL_SPOUT_ENABLE, true);
        config.set(BulletStormConfig.TOPOLOGY_METRICS_BUILT_IN_ENABLE, true);
        config.set(BulletDSLConfig.CONNECTOR_CLASS_NAME, ListConnector.class.getName());
        config.set(BulletDSLConfig.RECORD_CONVERTER_CLASS_NAME, MapBulletRecordConverter.class.getName());
        more.forEach(config::set);
        return config.validate();
    }

    static Map<String, Object> message(int id) {
        return Map.of("id", id);
    }
}
