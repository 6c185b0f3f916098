package io.github.bulletmetrics.topology.gateway;

import com.yahoo.bullet.common.BulletConfig;
import io.github.bulletmetrics.topology.Overrides;
import io.github.bulletmetrics.topology.Settings;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;

/**
 * Takes queries over HTTP and hands them to the topology, as Bullet's web service does, in a process of its own:
 * {@code java -cp bullet-topology.jar} and this class. When it serves, it prints one line of JSON,
 * {@code {"ready":true,"address":"127.0.0.1:9901"}}.
 */
@Command(name = "query-gateway", mixinStandardHelpOptions = true, sortOptions = false, showDefaultValues = true,
    description = "Accepts queries over HTTP and passes them to the topology.",
    footer = {"", "Example:",
        "  java -cp bullet-topology.jar io.github.bulletmetrics.topology.gateway.QueryGateway \\",
        "    --bullet-conf bullet_settings.yaml --listen 127.0.0.1:9901",
        "  curl -H 'Content-Type: text/plain' --data \"SELECT * FROM STREAM(30000, TIME) LIMIT 1\" \\",
        "    http://127.0.0.1:9901/api/bullet/queries/http-query"})
public final class QueryGateway implements Callable<Integer> {
    @Option(names = "--bullet-conf", required = true, paramLabel = "FILE",
        description = "Bullet's settings: the topology's YAML file.")
    private Path file;

    @Option(names = "-c", paramLabel = "KEY=VALUE",
            description = "Overrides a setting of the file; the value is YAML. May be repeated.")
    private Map<String, String> overrides = new LinkedHashMap<>();

    @Option(names = "--listen", paramLabel = "HOST:PORT", defaultValue = "127.0.0.1:9901",
        description = "Where to listen; port 0 for any. Clients are not authenticated: let a firewall admit trusted hosts.")
    private String listen;

    @Option(names = "--advertise", paramLabel = "HOST:PORT",
        description = "Address at which workers reach the gateway, if it differs from --listen.")
    private String advertise;

    @Option(names = "--max-queries", paramLabel = "N", defaultValue = "2000",
            description = "Maximum number of running queries.")
    private int maxQueries;

    @Option(names = "--queue-capacity", paramLabel = "N", defaultValue = "8192",
        description = "Maximum number of messages that wait for the topology.")
    private int queueCapacity;

    @Option(names = "--longest-query-ms", paramLabel = "MS", defaultValue = "600000",
        description = "Maximum time to wait for a query without a duration.")
    private long longestMs;

    @Option(names = "--grace-ms", paramLabel = "MS", defaultValue = "10000",
        description = "Time after the end of a query in which its result is accepted.")
    private long graceMs;

    @Option(names = "--stream-buffer-bytes", paramLabel = "N", defaultValue = "4194304",
        description = "The most bytes that wait for one client of sse-query; beyond that its oldest windows are left out.")
    private int streamBufferBytes;

    @Option(names = "--heartbeat-ms", paramLabel = "MS", defaultValue = "5000",
        description = "Interval of comments to clients of sse-query that get no results.")
    private long heartbeatMs;

    @Option(names = "--stall-ms", paramLabel = "MS", defaultValue = "10000",
        description = "Time after which a client of sse-query that reads nothing is disconnected.")
    private long stallMs;

    @Option(names = "--stop-with-stdin", description = "Stops when stdin ends, for example because the parent died.")
    private boolean stopWithStdin;

    /**
     * Serves until SIGTERM, SIGINT or, where asked for, the end of stdin. Exits with 1 when it cannot serve, 2 on wrong
     * arguments.
     *
     * @param arguments see {@code --help}.
     */
    public static void main(String[] arguments) {
        // The log that the jar carries; set before the first logger is made.
        if (System.getProperty("slf4j.provider") == null) {
            System.setProperty("slf4j.provider", "org.slf4j.jul.JULServiceProvider");
        }
        System.exit(new CommandLine(new QueryGateway()).setExecutionExceptionHandler((e, line, parsed) -> {
            line.getErr().println("The gateway cannot serve: " + e.getMessage());
            return line.getCommandSpec().exitCodeOnExecutionException();
        }).execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        BulletConfig config = Settings.forGateway(file, new Overrides().with(overrides).bullet());
        GatewayOptions options = new GatewayOptions(maxQueries, queueCapacity, longestMs, graceMs,
            new StreamOptions(streamBufferBytes, heartbeatMs, stallMs));
        GatewayServer server = new GatewayServer(config, options, socketAddress(listen), advertise);
        Runtime.getRuntime().addShutdownHook(new Thread(server::close, "gateway-stop"));
        server.start();
        System.out.println("{\"ready\":true,\"address\":\"" + server.address() + "\"}");
        System.out.flush();
        if (stopWithStdin) {
            System.in.transferTo(OutputStream.nullOutputStream());
        } else {
            new CountDownLatch(1).await();
        }
        return CommandLine.ExitCode.OK;
    }

    private static InetSocketAddress socketAddress(String text) {
        int colon = text.lastIndexOf(':');
        try {
            return new InetSocketAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
        } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
            throw new IllegalArgumentException("--listen must be like 127.0.0.1:9901, but is " + text, e);
        }
    }
}
