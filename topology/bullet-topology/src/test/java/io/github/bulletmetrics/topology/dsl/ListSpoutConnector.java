package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.storm.SpoutConnector;

import java.util.List;

/** As a user writes one: compiled against nothing but Bullet's name. */
public final class ListSpoutConnector extends SpoutConnector<ListSpout> {
    private static final long serialVersionUID = 1L;

    public ListSpoutConnector(BulletConfig config) {
        super(config);
    }

    @Override
    public List<Object> read() {
        return List.of(DSLSettings.message(1), DSLSettings.message(2));
    }

    ListSpout wrapped() {
        return spout;
    }
}
