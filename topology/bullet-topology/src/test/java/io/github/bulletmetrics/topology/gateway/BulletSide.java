package io.github.bulletmetrics.topology.gateway;

import static org.awaitility.Awaitility.await;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.IdentityPubSubMessageSerDe;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSub;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.Publisher;
import com.yahoo.bullet.pubsub.Subscriber;
import com.yahoo.bullet.pubsub.rest.RESTPubSub;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/** The topology's end of bullet-core's own RESTPubSub. */
final class BulletSide {
    private final Subscriber queries;
    private final Publisher results;
    private final Publisher signals;

    BulletSide(String address) throws Exception {
        BulletConfig config = config();
        config.set("bullet.pubsub.class.name", RESTPubSub.class.getName());
        config.set("bullet.pubsub.rest.query.urls", List.of("http://" + address + GatewayServer.PUBSUB_QUERY));
        config.set("bullet.pubsub.rest.query.subscriber.min.wait.ms", 1);
        config.set("bullet.pubsub.rest.subscriber.max.uncommitted.messages", 10_000);
        config.set("bullet.pubsub.rest.result.url", "http://127.0.0.1:1/looped-signals-need-none");
        PubSub processing = PubSub.from(config);
        queries = processing.getSubscriber();
        results = processing.getPublisher();
        PubSub submission = PubSub.from(config);
        submission.switchContext(PubSub.Context.QUERY_SUBMISSION, config);
        signals = submission.getPublisher();
    }

    static BulletConfig config() {
        BulletConfig config = new BulletConfig();
        config.set(BulletConfig.PUBSUB_MESSAGE_SERDE_CLASS_NAME, IdentityPubSubMessageSerDe.class.getName());
        return config;
    }

    /** Waits for the next query or signal. */
    PubSubMessage receive() {
        AtomicReference<PubSubMessage> received = new AtomicReference<>();
        await("a message").pollInterval(Duration.ofMillis(2)).until(() -> {
            received.set(queries.receive());
            return received.get() != null;
        });
        return received.get();
    }

    void answer(PubSubMessage query, String result, Metadata.Signal signal) throws Exception {
        Metadata metadata = query.getMetadata().copy();
        metadata.setSignal(signal);
        results.send(new PubSubMessage(query.getId(), result, metadata));
    }

    void signal(String id, Metadata.Signal signal) throws Exception {
        signal(id, new Metadata(signal, null));
    }

    void signal(String id, Metadata metadata) throws Exception {
        signals.send(new PubSubMessage(id, (byte[]) null, metadata));
    }

    void stop() throws Exception {
        queries.close();
        results.close();
        signals.close();
    }
}
