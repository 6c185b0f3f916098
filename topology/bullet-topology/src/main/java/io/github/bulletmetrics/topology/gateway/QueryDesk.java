package io.github.bulletmetrics.topology.gateway;

import com.yahoo.bullet.bql.BQLConfig;
import com.yahoo.bullet.bql.BQLResult;
import com.yahoo.bullet.bql.BulletQueryBuilder;
import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.common.BulletError;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.PubSubMessageSerDe;
import com.yahoo.bullet.query.Query;
import com.yahoo.bullet.result.Clip;
import com.yahoo.bullet.result.Meta;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.UUID;
import java.util.concurrent.Executor;

/**
 * Takes BQL from clients, sends it to the topology and gives each client the one result of its query. Thread-safe.
 *
 * <p>Statuses: 200 with the result; 400 for BQL that is wrong or has a window; 422 when the topology failed the query;
 * 429 and 503 when a limit is reached; 504 when no result came. All of them in Bullet's shape,
 * {@code {"records": [...], "meta": {...}}}, errors under {@code meta.errors}.
 */
final class QueryDesk {
    private static final Logger LOG = LoggerFactory.getLogger(QueryDesk.class);

    private final GatewayOptions options;
    private final Counters counters;
    private final OutgoingQueue outgoing;
    private final HeldQueries held;
    private final Executor writers;
    private final String resultUrl;
    private final BulletQueryBuilder builder;
    private final PubSubMessageSerDe serDe;

    /** Replies are written by {@code writers}, so that a slow client holds up no result but its own. */
    QueryDesk(BulletConfig config, GatewayOptions options, Counters counters, OutgoingQueue outgoing, HeldQueries held,
              Executor writers, String resultUrl) {
        this.options = options;
        this.counters = counters;
        this.outgoing = outgoing;
        this.held = held;
        this.writers = writers;
        this.resultUrl = resultUrl;
        builder = new BulletQueryBuilder(limited(config));
        serDe = PubSubMessageSerDe.from(config);
    }

    /** BQL has no limit of its own by default; the request has. */
    private static BulletConfig limited(BulletConfig config) {
        if (config.get(BQLConfig.BQL_MAX_QUERY_LENGTH) == null) {
            config.set(BQLConfig.BQL_MAX_QUERY_LENGTH, GatewayServer.MOST_QUERY_BYTES);
        }
        return config;
    }

    /** Takes a query; the reply is given now if it is refused, and else when its result has come. */
    void submit(String bql, Reply reply) {
        counters.submitted.increment();
        BQLResult result = builder.buildQuery(bql);
        if (result.hasErrors()) {
            counters.rejected.increment();
            reply.json(Reply.BAD_REQUEST, failure(result.getErrors()));
        } else if (result.getQuery().getWindow().getType() != null) {
            counters.rejected.increment();
            reply.json(Reply.BAD_REQUEST, failure("This endpoint does not take queries with windows", "Leave out WINDOWING"));
        } else {
            send(UUID.randomUUID().toString(), result, reply);
        }
    }

    private void send(String id, BQLResult result, Reply reply) {
        long timeoutMs = timeoutMs(result.getQuery());
        if (!held.hold(id, reply, timeoutMs, late -> giveUp(id, timeoutMs, late))) {
            counters.refused.increment();
            reply.json(Reply.TOO_MANY_REQUESTS, failure("Too many concurrent queries: the limit is " + options.maxQueries(),
                                                        "Try again later"));
            return;
        }
        PubSubMessage message = serDe.toMessage(id, result.getQuery(), result.getBql());
        if (!outgoing.offer(Messages.encode(message, resultUrl)) && held.take(id) != null) {
            counters.refused.increment();
            reply.json(Reply.UNAVAILABLE, failure("Too many queries wait for the topology: the limit is "
                + options.queueCapacity(), "See that the topology runs and polls this gateway, then try again"));
        }
    }

    /** The query's own duration and some grace, but never longer than the longest that is allowed. */
    private long timeoutMs(Query query) {
        long duration = query.getDuration();
        return duration > options.longestMs() ? options.longestMs() + options.graceMs() : duration + options.graceMs();
    }

    private void giveUp(String id, long timeoutMs, Reply reply) {
        counters.timedOut.increment();
        LOG.warn("Query {} got no result within {} ms and is killed", id, timeoutMs);
        outgoing.offer(Messages.encode(new PubSubMessage(id, Metadata.Signal.KILL), resultUrl));
        String json = failure("No result came within " + timeoutMs + " ms; the query was killed",
                              "See that the topology runs and polls this gateway, then try again");
        writers.execute(() -> reply.json(Reply.TIMED_OUT, json));
    }

    /**
     * Takes a message that the topology published as a result.
     *
     * @throws IllegalArgumentException when it is none.
     */
    void result(String json) {
        PubSubMessage message = Messages.decode(json);
        boolean failed = message.hasSignal(Metadata.Signal.FAIL);
        if (!failed && !message.hasSignal(Metadata.Signal.COMPLETE)) {
            throw new IllegalArgumentException("Not the end of a query: its signal is neither COMPLETE nor FAIL");
        }
        if (!(message.getContent() instanceof String content)) {
            throw new IllegalArgumentException("Not a result: its content is no text");
        }
        Reply reply = held.take(message.getId());
        if (reply == null) {
            counters.unknownResults.increment();
            return;
        }
        (failed ? counters.failed : counters.returned).increment();
        writers.execute(() -> reply.json(failed ? Reply.UNPROCESSABLE : Reply.OK, content));
    }

    /**
     * Takes a signal that the topology loops back to itself.
     *
     * @return false when the queue is full.
     * @throws IllegalArgumentException when it is none.
     */
    boolean signal(String json) {
        PubSubMessage message = Messages.decode(json);
        if (!message.hasSignal()) {
            throw new IllegalArgumentException("Not a signal: only the topology's signals are taken here");
        }
        counters.signals.increment();
        return outgoing.offer(Messages.encode(message, resultUrl));
    }

    /** Answers all who wait, since the gateway stops. */
    void letGo() {
        for (Reply reply : held.takeAll()) {
            counters.stopped.increment();
            reply.json(Reply.UNAVAILABLE, failure("The gateway stops", "Try again later"));
        }
    }

    private static String failure(String error, String resolution) {
        return failure(List.of(BulletError.makeError(error, resolution)));
    }

    private static String failure(List<BulletError> errors) {
        return Clip.of(Meta.of(errors)).asJSON();
    }
}
