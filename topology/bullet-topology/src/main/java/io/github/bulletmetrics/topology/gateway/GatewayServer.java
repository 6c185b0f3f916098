package io.github.bulletmetrics.topology.gateway;

import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpServer;
import com.yahoo.bullet.common.BulletConfig;
import io.github.bulletmetrics.topology.source.GeneratorSettings;
import io.github.bulletmetrics.topology.source.SourceControl;
import io.github.bulletmetrics.topology.source.SourceReport;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * The gateway's HTTP: clients' queries, the endpoints that bullet-core's RESTPubSub polls, the record source's control,
 * and its own figures. Several hundred clients can wait, for an answer or for events, without a thread each.
 */
public final class GatewayServer implements AutoCloseable {
    /** Clients POST BQL here. */
    public static final String QUERIES = "/api/bullet/queries/http-query";
    /** Clients POST BQL here, with or without windows, and get server-sent events. */
    public static final String STREAMS = "/api/bullet/queries/sse-query";
    /** Clients POST BQL here to learn whether it is valid. */
    public static final String VALIDATION = "/api/bullet/queries/validate-query";
    /** The topology GETs queries and signals here, and POSTs signals. */
    public static final String PUBSUB_QUERY = "/api/bullet/pubsub/query";
    /** The topology POSTs results here. */
    public static final String PUBSUB_RESULT = "/api/bullet/pubsub/result";
    /** GET and PUT what the record source is to emit. */
    public static final String SOURCE_CONTROL = "/api/source/control";
    /** Each task of the record source POSTs here what it has done. */
    public static final String SOURCE_REPORT = "/api/source/report";
    /** GET what the tasks of the record source have done. */
    public static final String SOURCE_STATUS = "/api/source/status";
    /** GET what has become of the queries. */
    public static final String STATS = "/api/stats";

    static final int MOST_QUERY_BYTES = 1 << 16;
    private static final int MOST_CONTROL_BYTES = 1 << 18;
    private static final int MOST_RESULT_BYTES = 1 << 26;
    private static final int BACKLOG = 1_024;
    private static final int READERS = 8;
    private static final int PARSERS = 8;
    private static final int WRITERS = 8;
    private static final long READY_WITHIN_MS = 5_000;
    private static final long STOP_MS = 2_000;

    private final HttpServer http;
    private final ExecutorService readers = Executors.newFixedThreadPool(READERS, Threads.named("gateway-http"));
    /**
     * A thousand queries at once are seconds of parsing; the topology's polls and results must not queue behind them.
     */
    private final ExecutorService parsers = Executors.newFixedThreadPool(PARSERS, Threads.named("gateway-query"));
    private final ExecutorService writers = Executors.newFixedThreadPool(WRITERS, Threads.named("gateway-reply"));
    private final Counters counters = new Counters();
    private final GatewayOptions options;
    private final OutgoingQueue outgoing;
    private final RunningQueries running;
    private final EventStreams streams;
    private final QueryDesk desk;
    private final SourceDesk source;

    /**
     * Takes the address; serves nothing before {@link #start}.
     *
     * @param config Bullet's settings: limits of queries, the schema file, what the record source emits at first.
     * @param options the gateway's limits.
     * @param listen where to listen; port 0 for any.
     * @param advertised the {@code HOST:PORT} at which the topology's workers reach this gateway, or null for the
     *     address that it listens on.
     * @throws IOException when the address cannot be taken.
     */
    public GatewayServer(BulletConfig config, GatewayOptions options, InetSocketAddress listen, String advertised)
        throws IOException {
        this.options = options;
        http = JdkHttpServer.create(listen, BACKLOG);
        outgoing = new OutgoingQueue(options.queueCapacity(), counters);
        running = new RunningQueries(options.maxQueries());
        streams = new EventStreams(options.streams(), counters, STOP_MS);
        String reachable = advertised == null ? address() : advertised;
        desk = new QueryDesk(config, options, counters, outgoing, running, writers, streams,
                             "http://" + reachable + PUBSUB_RESULT);
        source = new SourceDesk(GeneratorSettings.from(config).control());
        http.setExecutor(readers);
        http.createContext("/", routes());
    }

    private Router routes() {
        Router router = new Router(parsers);
        router.addForClients("POST", QUERIES, (exchange, reply) -> desk.submit(Router.body(exchange, MOST_QUERY_BYTES),
                reply));
        router.addForClients("POST", STREAMS, (exchange, reply) -> desk.stream(Router.body(exchange, MOST_QUERY_BYTES),
                reply));
        router.addForClients("POST", VALIDATION,
                (exchange, reply) -> desk.validate(Router.body(exchange, MOST_QUERY_BYTES), reply));
        router.add("GET", PUBSUB_QUERY, (exchange, reply) -> poll(reply));
        router.add("POST", PUBSUB_QUERY, (exchange, reply) -> signal(Router.body(exchange, MOST_QUERY_BYTES), reply));
        router.add("POST", PUBSUB_RESULT, (exchange, reply) -> {
            desk.result(Router.body(exchange, MOST_RESULT_BYTES));
            reply.empty(Reply.OK);
        });
        router.add("GET", SOURCE_CONTROL, (exchange, reply) -> reply.json(Reply.OK, source.control().toJson()));
        router.add("PUT", SOURCE_CONTROL, (exchange, reply) -> reply.json(Reply.OK,
            source.change(SourceControl.fromJson(Router.body(exchange, MOST_CONTROL_BYTES))).toJson()));
        router.add("POST", SOURCE_REPORT, (exchange, reply) -> reply.empty(
            source.report(SourceReport.fromJson(Router.body(exchange, MOST_CONTROL_BYTES))) ? Reply.OK
            : Reply.UNAVAILABLE));
        router.add("GET", SOURCE_STATUS, (exchange, reply) -> reply.json(Reply.OK, source.status()));
        router.add("GET", STATS, (exchange, reply) -> reply.json(Reply.OK, stats()));
        router.add("GET", "/-/healthy", (exchange, reply) -> reply.text(Reply.OK, "healthy\n"));
        router.add("GET", "/-/ready", (exchange, reply) -> ready(reply));
        return router;
    }

    /** Starts to serve. */
    public void start() {
        running.every(streams.beatMs(), streams::beat);
        http.start();
    }

    /**
     * Where the gateway listens.
     *
     * @return {@code HOST:PORT}, with the port that was taken.
     */
    public String address() {
        InetSocketAddress address = http.getAddress();
        String host = address.getAddress().getHostAddress();
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
    }

    /**
     * Waits for the record source.
     *
     * @param wanted of what {@link #SOURCE_STATUS} answers, asked after each report of a task.
     * @param limitMs how long to wait at most.
     * @return the last status, which is not as wanted when the time is up.
     * @throws InterruptedException when the thread is.
     */
    public JsonObject awaitSource(Predicate<JsonObject> wanted, long limitMs) throws InterruptedException {
        return source.await(wanted, limitMs);
    }

    private void poll(Reply reply) {
        String message = outgoing.poll();
        if (message == null) {
            reply.empty(Reply.NO_CONTENT);
        } else {
            reply.json(Reply.OK, message);
        }
    }

    private void signal(String json, Reply reply) {
        if (desk.signal(json)) {
            reply.empty(Reply.OK);
        } else {
            reply.error(Reply.UNAVAILABLE, "Too many messages wait for the topology");
        }
    }

    private void ready(Reply reply) {
        long age = outgoing.lastPollAgeMs();
        if (age >= 0 && age <= READY_WITHIN_MS) {
            reply.text(Reply.OK, "ready\n");
        } else {
            reply.text(Reply.UNAVAILABLE, "no topology polls " + PUBSUB_QUERY + "\n");
        }
    }

    private JsonObject stats() {
        JsonObject json = new JsonObject();
        json.addProperty("submitted", counters.submitted);
        json.addProperty("active", running.active());
        json.addProperty("returned", counters.returned);
        json.addProperty("failed", counters.failed);
        json.addProperty("timed_out", counters.timedOut);
        json.addProperty("rejected", counters.rejected);
        json.addProperty("refused", counters.refused);
        json.addProperty("stopped", counters.stopped);
        json.addProperty("abandoned", counters.abandoned);
        json.addProperty("streams", streams.open());
        json.addProperty("windows", counters.windows);
        json.addProperty("windows_sent", counters.windowsSent);
        json.addProperty("windows_left_out", counters.windowsLeftOut);
        json.addProperty("unknown_results", counters.unknownResults);
        json.addProperty("signals", counters.signals);
        json.addProperty("queue_depth", outgoing.depth());
        json.addProperty("queue_capacity", options.queueCapacity());
        json.addProperty("queue_full", counters.queueFull);
        json.addProperty("polls", counters.polls);
        json.addProperty("last_poll_age_ms", outgoing.lastPollAgeMs());
        return json;
    }

    /** Answers all who wait, then ends within about 5 s. May be called twice. */
    @Override
    public void close() {
        running.close();
        desk.endAll();
        writers.shutdown();
        try {
            writers.awaitTermination(STOP_MS, TimeUnit.MILLISECONDS);
            streams.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        http.stop(0);
        readers.shutdownNow();
        parsers.shutdownNow();
    }
}
