package io.github.bulletmetrics.topology.source;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Asks the gateway at an interval what to emit, and reports what has been done, on one daemon thread of its own. A
 * question that fails is counted and changes nothing; the first failure of a row is logged.
 */
final class ControlClient implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ControlClient.class);
    private static final int TIMEOUT_MS = 2_000;
    private static final int MOST_BYTES = 1 << 20;
    private static final long JOIN_MS = TIMEOUT_MS + 500;

    private final URI controlUrl;
    private final URI reportUrl;
    private final long pollMs;
    private final Supplier<SourceReport> report;
    private final Thread thread;
    private volatile SourceControl latest;
    private volatile long failures;
    private volatile boolean closed;
    private boolean failing;

    /**
     * Starts nothing yet.
     *
     * @param controlUrl where to GET the control; reports are POSTed to {@code report} beside it.
     * @param pollMs time between two questions.
     * @param report gives the figures to tell, on the client's thread.
     */
    ControlClient(URI controlUrl, long pollMs, Supplier<SourceReport> report) {
        this.controlUrl = controlUrl;
        this.reportUrl = controlUrl.resolve("report");
        this.pollMs = pollMs;
        this.report = report;
        thread = new Thread(this::run, "source-control");
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** What was last answered, or null. */
    SourceControl latest() {
        return latest;
    }

    /** Questions that failed since the start. */
    long failures() {
        return failures;
    }

    private void run() {
        while (!closed) {
            poll();
            try {
                TimeUnit.MILLISECONDS.sleep(pollMs);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private void poll() {
        try {
            latest = changed(SourceControl.fromJson(get()));
            post(report.get().toJson().toString());
            failing = false;
        } catch (IOException | RuntimeException e) {
            failures = failures + 1;
            if (!failing) {
                failing = true;
                LOG.warn("No source control from {}; keeping the last rates: {}", controlUrl, e.toString());
            }
        }
    }

    /** The object that is there already, if it states the same: the executor's thread compares objects. */
    private SourceControl changed(SourceControl answer) {
        SourceControl known = latest;
        return answer.equals(known) ? known : answer;
    }

    private String get() throws IOException {
        HttpURLConnection connection = open(controlUrl);
        try (InputStream in = connection.getInputStream()) {
            return new String(in.readNBytes(MOST_BYTES), StandardCharsets.UTF_8);
        }
    }

    private void post(String json) throws IOException {
        HttpURLConnection connection = open(reportUrl);
        connection.setDoOutput(true);
        connection.setRequestProperty("Content-Type", "application/json");
        try (OutputStream out = connection.getOutputStream()) {
            out.write(json.getBytes(StandardCharsets.UTF_8));
        }
        try (InputStream in = connection.getInputStream()) {
            in.readNBytes(MOST_BYTES);
        }
    }

    private static HttpURLConnection open(URI url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.toURL().openConnection();
        connection.setConnectTimeout(TIMEOUT_MS);
        connection.setReadTimeout(TIMEOUT_MS);
        connection.setInstanceFollowRedirects(false);
        return connection;
    }

    /** Ends the thread within {@value #JOIN_MS} ms; may be called twice. */
    @Override
    public void close() {
        closed = true;
        thread.interrupt();
        try {
            thread.join(JOIN_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
