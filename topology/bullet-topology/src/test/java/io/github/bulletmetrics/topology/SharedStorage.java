package io.github.bulletmetrics.topology;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.storage.MemoryStorageManager;

import java.util.List;

/** A storage of queries that holds the ones that its setting names, as a web service would have stored them. */
public final class SharedStorage extends MemoryStorageManager<PubSubMessage> {
    static final String STORED = "test.stored.queries";
    private static final long serialVersionUID = 1L;

    public SharedStorage(BulletConfig config) {
        super(config);
        for (Object message : config.getAs(STORED, List.class)) {
            put(((PubSubMessage) message).getId(), (PubSubMessage) message).join();
        }
    }
}
