package com.yahoo.bullet.storm.drpc;

import com.yahoo.bullet.bql.BQLResult;
import com.yahoo.bullet.bql.BulletQueryBuilder;
import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.BufferingSubscriber;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.PubSubMessageSerDe;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.UUID;

/**
 * Reads queries from DRPC calls whose argument is a PubSubMessage as JSON or, beyond Bullet, BQL, so that whoever can
 * POST can ask. A call that holds neither is failed. Calls whose query has not been committed when this closes are
 * failed too, so that their submitters need not wait. For one thread.
 */
final class DRPCQuerySubscriber extends BufferingSubscriber {
    private static final Logger LOG = LoggerFactory.getLogger(DRPCQuerySubscriber.class);

    private final DRPCServers servers;
    private final BulletQueryBuilder builder;
    private final PubSubMessageSerDe serDe;

    DRPCQuerySubscriber(DRPCServers servers, BulletConfig config, int maxUncommitted) {
        super(maxUncommitted);
        this.servers = servers;
        builder = new BulletQueryBuilder(config);
        serDe = PubSubMessageSerDe.from(config);
    }

    @Override
    protected List<PubSubMessage> getMessages() {
        DRPCServers.Call call = servers.fetch();
        if (call == null) {
            return List.of();
        }
        try {
            return List.of(query(message(call.argument()), call));
        } catch (RuntimeException e) {
            LOG.warn("Skipped DRPC call {}: its argument is not a query", call.id(), e);
            servers.fail(call.host(), call.id());
            return List.of();
        }
    }

    private PubSubMessage message(String argument) {
        if (argument.stripLeading().startsWith("{")) {
            return PubSubMessage.fromJSON(argument);
        }
        BQLResult result = builder.buildQuery(argument);
        if (result.hasErrors()) {
            throw new IllegalArgumentException("neither a PubSubMessage nor BQL: " + result.getErrors());
        }
        return serDe.toMessage(UUID.randomUUID().toString(), result.getQuery(), result.getBql());
    }

    private static PubSubMessage query(PubSubMessage message, DRPCServers.Call call) {
        if (message.getId() == null) {
            throw new IllegalArgumentException("the query has no id");
        }
        Metadata sent = message.getMetadata();
        return new PubSubMessage(message.getId(), message.getContent(), new DRPCRequestMetadata(
            sent == null ? null : sent.getSignal(), sent == null ? null : sent.getContent(), call.host(), call.id()));
    }

    @Override
    public void close() {
        uncommittedMessages.values().forEach(this::fail);
        receivedMessages.forEach(this::fail);
        servers.close();
    }

    private void fail(PubSubMessage message) {
        if (message.getMetadata() instanceof DRPCRequestMetadata request) {
            servers.fail(request.host(), request.requestId());
        }
    }
}
