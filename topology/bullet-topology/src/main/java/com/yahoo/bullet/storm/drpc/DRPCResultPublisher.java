package com.yahoo.bullet.storm.drpc;

import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.Publisher;

/** Gives each result, a PubSubMessage as JSON, to the DRPC call that its query came by. For one thread. */
final class DRPCResultPublisher implements Publisher {
    private final DRPCServers servers;

    DRPCResultPublisher(DRPCServers servers) {
        this.servers = servers;
    }

    @Override
    public PubSubMessage send(PubSubMessage message) throws PubSubException {
        if (!(message.getMetadata() instanceof DRPCRequestMetadata request)) {
            throw new PubSubException("Query " + message.getId()
                    + " was not submitted by DRPC, so its result cannot be delivered");
        }
        Metadata signalOnly = new Metadata(request.getSignal(), null);
        servers.give(request.host(), request.requestId(), new PubSubMessage(message.getId(), message.getContent(),
                signalOnly).asJSON());
        return message;
    }

    @Override
    public void close() {
        servers.close();
    }
}
