package io.github.bulletmetrics.topology;

import com.yahoo.bullet.bql.BQLResult;
import com.yahoo.bullet.bql.BulletQueryBuilder;
import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.IdentityPubSubMessageSerDe;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.tuple.Tuple;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Queries as the query spout emits them, and the settings that they need. */
final class Queries {
    private Queries() {
    }

    static BulletStormConfig config() {
        BulletStormConfig config = new BulletStormConfig();
        config.set(BulletConfig.PUBSUB_MESSAGE_SERDE_CLASS_NAME, IdentityPubSubMessageSerDe.class.getName());
        config.set(BulletStormConfig.TOPOLOGY_METRICS_BUILT_IN_ENABLE, true);
        return config.validate();
    }

    static BulletStormConfig replayConfig() {
        BulletStormConfig config = config();
        config.set(BulletStormConfig.REPLAY_ENABLE, true);
        return config;
    }

    static Tuple query(String id, String bql) {
        return queryOfAge(0, id, bql);
    }

    static Tuple queryOfAge(long ageMs, String id, String bql) {
        return tuple(messageOfAge(ageMs, id, bql));
    }

    static Tuple tuple(PubSubMessage message) {
        return FakeTuples.tuple(Streams.QUERY_COMPONENT, Streams.DEFAULT_STREAM, message.getId(), message);
    }

    static PubSubMessage message(String id, String bql) {
        return messageOfAge(0, id, bql);
    }

    static PubSubMessage messageOfAge(long ageMs, String id, String bql) {
        BQLResult result = new BulletQueryBuilder(config()).buildQuery(bql);
        Metadata metadata = new Metadata(null, result.getBql());
        metadata.setCreated(System.currentTimeMillis() - ageMs);
        return new PubSubMessage(id, result.getQuery(), metadata);
    }

    /** A batch of the replay bolt, for the request that a bolt has emitted last. */
    static Tuple batch(FakeCollector collector, PubSubMessage... messages) {
        List<List<Object>> requests = collector.on(Streams.FEEDBACK_STREAM);
        List<Object> last = requests.get(requests.size() - 1);
        Map<String, PubSubMessage> batch = new HashMap<>();
        List.of(messages).forEach(message -> batch.put(message.getId(), message));
        return FakeTuples.tuple(Streams.REPLAY_COMPONENT, Streams.REPLAY_STREAM, last.get(0),
                ((Metadata) last.get(1)).getContent(), 0,
                                batch);
    }

    static Tuple notAQuery(String id) {
        PubSubMessage message = new PubSubMessage(id, "not a query", new Metadata(null, "not a query"));
        return FakeTuples.tuple(Streams.QUERY_COMPONENT, Streams.DEFAULT_STREAM, id, message);
    }

    static Tuple signal(String id, Metadata.Signal signal) {
        return FakeTuples.tuple(Streams.QUERY_COMPONENT, Streams.METADATA_STREAM, id, new Metadata(signal, null));
    }
}
