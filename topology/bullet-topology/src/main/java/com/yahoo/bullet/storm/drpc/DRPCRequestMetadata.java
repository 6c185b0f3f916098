package com.yahoo.bullet.storm.drpc;

import com.yahoo.bullet.pubsub.Metadata;

import java.io.Serializable;

/** What travels with a query through the topology, so that its result finds the DRPC call that waits for it. */
final class DRPCRequestMetadata extends Metadata {
    private static final long serialVersionUID = 1L;

    private final String host;
    private final String requestId;

    /** The content is the query's text, as with any other PubSub. */
    DRPCRequestMetadata(Signal signal, Serializable content, String host, String requestId) {
        super(signal, content);
        this.host = host;
        this.requestId = requestId;
    }

    /** The DRPC server that has the call. */
    String host() {
        return host;
    }

    /** The server's id of the call. */
    String requestId() {
        return requestId;
    }

    @Override
    public Metadata copy() {
        Metadata copy = new DRPCRequestMetadata(signal, (Serializable) content, host, requestId);
        copy.setCreated(created);
        return copy;
    }
}
