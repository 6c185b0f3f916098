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
 * Takes BQL from clients, sends it to the topology and gives each client the results of its query: one answer, or a
 * stream of events. Thread-safe.
 *
 * <p>Statuses: 200 with the result, or with the stream; 400 for BQL that is wrong or has a window that nobody could
 * see; 422 when the topology failed the query; 429 and 503 when a limit is reached; 504 when no result came. All of
 * them in Bullet's shape, {@code {"records": [...], "meta": {...}}}, errors under {@code meta.errors}. In a stream,
 * which has begun, the last event states what went wrong.
 */
final class QueryDesk {
    private static final Logger LOG = LoggerFactory.getLogger(QueryDesk.class);

    private final GatewayOptions options;
    private final Counters counters;
    private final OutgoingQueue outgoing;
    private final RunningQueries running;
    private final Executor writers;
    private final EventStreams streams;
    private final String resultUrl;
    private final BulletQueryBuilder builder;
    private final PubSubMessageSerDe serDe;

    /** Single answers are written by {@code writers}, so that a slow client holds up no result but its own. */
    QueryDesk(BulletConfig config, GatewayOptions options, Counters counters, OutgoingQueue outgoing,
            RunningQueries running,
              Executor writers, EventStreams streams, String resultUrl) {
        this.options = options;
        this.counters = counters;
        this.outgoing = outgoing;
        this.running = running;
        this.writers = writers;
        this.streams = streams;
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

    /** Reports whether a query is valid BQL, as Bullet's web service does: 204, or 422 with the errors. */
    void validate(String bql, Reply reply) {
        BQLResult result = builder.buildQuery(bql);
        if (result.hasErrors()) {
            reply.json(Reply.UNPROCESSABLE, failure(result.getErrors()));
        } else {
            reply.empty(Reply.NO_CONTENT);
        }
    }

    /** Takes a query; the reply is given now if it is refused, and else when its result has come. */
    void submit(String bql, Reply reply) {
        BQLResult result = build(bql, reply);
        if (result == null) {
            return;
        }
        if (result.getQuery().getWindow().getType() != null) {
            counters.rejected.increment();
            reply.json(Reply.BAD_REQUEST, failure("This endpoint gives one result, and a query with a window has many",
                "POST it to " + GatewayServer.STREAMS + ", which streams them, or leave out WINDOWING"));
            return;
        }
        send(UUID.randomUUID().toString(), result, new OneAnswer(reply, writers), reply);
    }

    /** Takes a query, with or without windows; the reply is given now if it is refused, and else begins now. */
    void stream(String bql, Reply reply) {
        BQLResult result = build(bql, reply);
        if (result == null) {
            return;
        }
        String id = UUID.randomUUID().toString();
        EventStream stream = streams.create(() -> abandon(id));
        if (send(id, result, stream, reply)) {
            stream.open(reply.takeExchange());
        }
    }

    /** Null, and the reply is given, when the query is no valid BQL. */
    private BQLResult build(String bql, Reply reply) {
        counters.submitted.increment();
        BQLResult result = builder.buildQuery(bql);
        if (result.hasErrors()) {
            counters.rejected.increment();
            reply.json(Reply.BAD_REQUEST, failure(result.getErrors()));
            return null;
        }
        return result;
    }

    /** False, and the reply is given, when a limit is reached. */
    private boolean send(String id, BQLResult result, QueryClient client, Reply reply) {
        long timeoutMs = timeoutMs(result.getQuery());
        if (!running.add(id, client, timeoutMs, late -> timedOut(id, timeoutMs, late))) {
            counters.refused.increment();
            reply.json(Reply.TOO_MANY_REQUESTS,
                    failure("Too many concurrent queries: the limit is " + options.maxQueries(),
                                                        "Try again later"));
            return false;
        }
        PubSubMessage message = serDe.toMessage(id, result.getQuery(), result.getBql());
        if (!outgoing.offer(Messages.encode(message, resultUrl)) && running.remove(id) != null) {
            counters.refused.increment();
            reply.json(Reply.UNAVAILABLE, failure("Too many queries wait for the topology: the limit is "
                + options.queueCapacity(), "See that the topology runs and polls this gateway, then try again"));
            return false;
        }
        return true;
    }

    /** The query's own duration and some grace, but never longer than the longest that is allowed. */
    private long timeoutMs(Query query) {
        long duration = query.getDuration();
        return duration > options.longestMs() ? options.longestMs() + options.graceMs() : duration + options.graceMs();
    }

    private void timedOut(String id, long timeoutMs, QueryClient client) {
        counters.timedOut.increment();
        LOG.warn("Killing query {}: no result within {} ms", id, timeoutMs);
        kill(id);
        client.end(Reply.TIMED_OUT, failure("No result came within " + timeoutMs + " ms; the query was killed",
                                            "See that the topology runs and polls this gateway, then try again"));
    }

    private void abandon(String id) {
        if (running.remove(id) != null) {
            counters.abandoned.increment();
            kill(id);
        }
    }

    private void kill(String id) {
        outgoing.offer(Messages.encode(new PubSubMessage(id, Metadata.Signal.KILL), resultUrl));
    }

    /**
     * Takes a message that the topology published as a result.
     *
     * @throws IllegalArgumentException when it is none.
     */
    void result(String json) {
        PubSubMessage message = Messages.decode(json);
        boolean failed = message.hasSignal(Metadata.Signal.FAIL);
        if (message.hasSignal() && !failed && !message.hasSignal(Metadata.Signal.COMPLETE)) {
            throw new IllegalArgumentException("Not a result: its signal is neither COMPLETE nor FAIL");
        }
        if (!(message.getContent() instanceof String content)) {
            throw new IllegalArgumentException("Not a result: its content is not text");
        }
        if (!message.hasSignal()) {
            window(message.getId(), content);
            return;
        }
        QueryClient client = running.remove(message.getId());
        if (client == null) {
            counters.unknownResults.increment();
            return;
        }
        (failed ? counters.failed : counters.returned).increment();
        client.end(failed ? Reply.UNPROCESSABLE : Reply.OK, content);
    }

    private void window(String id, String result) {
        QueryClient client = running.get(id);
        if (client == null) {
            counters.unknownResults.increment();
        } else if (!client.window(result)) {
            throw new IllegalArgumentException("Not the end of a query whose client expects one result: "
                + "its signal is neither COMPLETE nor FAIL");
        }
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
            throw new IllegalArgumentException("Not a signal: only signals of the topology are accepted here");
        }
        counters.signals.increment();
        return outgoing.offer(Messages.encode(message, resultUrl));
    }

    /** Answers all waiting clients, because the gateway stops. */
    void endAll() {
        for (QueryClient client : running.removeAll()) {
            counters.stopped.increment();
            client.end(Reply.UNAVAILABLE, failure("The gateway stops", "Try again later"));
        }
    }

    private static String failure(String error, String resolution) {
        return failure(List.of(BulletError.makeError(error, resolution)));
    }

    private static String failure(List<BulletError> errors) {
        return Clip.of(Meta.of(errors)).asJSON();
    }
}
