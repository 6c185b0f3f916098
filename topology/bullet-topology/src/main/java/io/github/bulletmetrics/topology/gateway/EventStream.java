package io.github.bulletmetrics.topology.gateway;

import com.sun.net.httpserver.HttpExchange;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * A client that gets results as they come, as server-sent events, each one {@code data:} of JSON, until its query ends.
 *
 * <p>What it has not taken yet waits in a bounded buffer. One thread at a time writes to it, and only while something
 * waits; so a few threads serve all streams. A client that takes nothing for too long is interrupted, which closes its
 * connection (it is an interruptible channel), and is then one that has gone.
 */
final class EventStream implements QueryClient {
    private static final Logger LOG = LoggerFactory.getLogger(EventStream.class);
    private static final byte[] COMMENT = ":\n\n".getBytes(StandardCharsets.UTF_8);

    private final StreamOptions options;
    private final Executor writers;
    private final Counters counters;
    private final Set<EventStream> open;
    private final Runnable onGone;
    private final Deque<Event> waiting = new ArrayDeque<>();
    private HttpExchange exchange;
    private long waitingBytes;
    private long lastNanos = System.nanoTime();
    private Thread writer;
    private boolean draining;
    private boolean ended;
    private boolean closed;

    private record Event(byte[] bytes, boolean isWindow) {
    }

    /** It is in {@code open} from its opening to its end. Threads of {@code writers} may wait for the client. */
    EventStream(StreamOptions options, Executor writers, Counters counters, Set<EventStream> open, Runnable onGone) {
        this.options = options;
        this.writers = writers;
        this.counters = counters;
        this.open = open;
        this.onGone = onGone;
    }

    /** Begins the answer. What came before waits until then. */
    synchronized void open(HttpExchange opened) {
        exchange = opened;
        open.add(this);
        drainLater();
    }

    @Override
    public synchronized boolean window(String result) {
        counters.windows.increment();
        if (ended || closed) {
            counters.windowsLeftOut.increment();
        } else {
            add(new Event(event(result), true));
        }
        return true;
    }

    @Override
    public synchronized void end(int status, String result) {
        if (!ended && !closed) {
            add(new Event(event(result), false));
            ended = true;
        }
    }

    /**
     * Called now and then: sends a comment to a client that has been sent nothing lately, drops one that takes
     * nothing.
     */
    synchronized void beat() {
        long silentMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - lastNanos);
        if (writer != null && silentMs >= options.stallMs()) {
            writer.interrupt();
        } else if (exchange != null && !draining && !ended && !closed && silentMs >= options.heartbeatMs()) {
            add(new Event(COMMENT, false));
        }
    }

    private void add(Event event) {
        waiting.add(event);
        waitingBytes += event.bytes().length;
        leaveOutOldest();
        drainLater();
    }

    /** The newest always stays, however large. */
    private void leaveOutOldest() {
        while (waitingBytes > options.bufferBytes() && waiting.size() > 1) {
            Event oldest = waiting.remove();
            waitingBytes -= oldest.bytes().length;
            countLeftOut(oldest);
        }
    }

    private void countLeftOut(Event event) {
        if (event.isWindow()) {
            counters.windowsLeftOut.increment();
        }
    }

    private void drainLater() {
        if (exchange != null && !draining && !closed) {
            draining = true;
            writers.execute(this::drain);
        }
    }

    private void drain() {
        Event next = null;
        try {
            begin();
            for (next = next(); next != null; next = next()) {
                exchange.getResponseBody().write(next.bytes());
                exchange.getResponseBody().flush();
                if (next.isWindow()) {
                    counters.windowsSent.increment();
                }
            }
        } catch (IOException e) {
            LOG.debug("A client disconnected before the end of its stream", e);
            gone(next);
        } finally {
            // An interrupt that came too late must not meet the next stream.
            Thread.interrupted();
        }
    }

    private void begin() throws IOException {
        synchronized (this) {
            writer = Thread.currentThread();
            lastNanos = System.nanoTime();
            if (exchange.getResponseCode() != -1) {
                return;
            }
        }
        exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
        exchange.getResponseHeaders().set("Cache-Control", "no-cache");
        exchange.sendResponseHeaders(Reply.OK, 0);
        exchange.getResponseBody().flush();
    }

    /** The next event, or null when there is none now; after the last one the connection is closed. */
    private synchronized Event next() {
        lastNanos = System.nanoTime();
        Event next = waiting.poll();
        if (next == null) {
            draining = false;
            writer = null;
            if (ended && !closed) {
                closed = true;
                open.remove(this);
                exchange.close();
            }
            return null;
        }
        waitingBytes -= next.bytes().length;
        return next;
    }

    private void gone(Event unwritten) {
        boolean early;
        synchronized (this) {
            if (unwritten != null) {
                countLeftOut(unwritten);
            }
            early = !ended;
            closed = true;
            draining = false;
            writer = null;
            waiting.forEach(this::countLeftOut);
            waiting.clear();
            waitingBytes = 0;
            open.remove(this);
        }
        Thread.interrupted();
        exchange.close();
        if (early) {
            onGone.run();
        }
    }

    private static byte[] event(String result) {
        StringBuilder text = new StringBuilder(result.length() + 16);
        result.lines().forEach(line -> text.append("data:").append(line).append('\n'));
        return text.append('\n').toString().getBytes(StandardCharsets.UTF_8);
    }
}
