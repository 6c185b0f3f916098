package com.yahoo.bullet.storm.drpc;

import com.yahoo.bullet.pubsub.BufferingSubscriber;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;

/**
 * Reads queries from DRPC calls whose argument is a PubSubMessage as JSON. A call that holds none is failed. Calls whose query has
 * not been committed when this closes are failed too, so that their submitters need not wait. For one thread.
 */
final class DRPCQuerySubscriber extends BufferingSubscriber {
    private static final Logger LOG = LoggerFactory.getLogger(DRPCQuerySubscriber.class);

    private final DRPCServers servers;

    DRPCQuerySubscriber(DRPCServers servers, int maxUncommitted) {
        super(maxUncommitted);
        this.servers = servers;
    }

    @Override
    protected List<PubSubMessage> getMessages() {
        DRPCServers.Call call = servers.fetch();
        if (call == null) {
            return List.of();
        }
        try {
            return List.of(query(PubSubMessage.fromJSON(call.argument()), call));
        } catch (RuntimeException e) {
            LOG.warn("Left out DRPC call {}: its argument is no query", call.id(), e);
            servers.fail(call.host(), call.id());
            return List.of();
        }
    }

    private static PubSubMessage query(PubSubMessage message, DRPCServers.Call call) {
        if (message.getId() == null) {
            throw new IllegalArgumentException("It has no id");
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
