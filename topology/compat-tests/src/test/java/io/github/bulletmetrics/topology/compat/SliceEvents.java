package io.github.bulletmetrics.topology.compat;

import com.sun.net.httpserver.HttpServer;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * A store of the collector that keeps nothing: each write is the event that slices have closed, which whoever asks the
 * collector for them awaits.
 */
final class SliceEvents implements AutoCloseable {
    private final HttpServer server;
    private long events;

    SliceEvents() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", write -> {
            write.getRequestBody().readAllBytes();
            write.sendResponseHeaders(204, -1);
            write.close();
            happened();
        });
        server.start();
    }

    /** Where the collector writes to. */
    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/write";
    }

    /** Counts an event: a write, or what else those who wait have to look at. */
    synchronized void happened() {
        events++;
        notifyAll();
    }

    /**
     * Returns how many events there have been when there are more than were seen, or when the time is over.
     *
     * @param seen what it returned the last time; 0 at first.
     */
    synchronized long await(long seen, long limitMs) throws InterruptedException {
        long limit = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMs);
        for (long left = limitMs; events <= seen && left > 0; left = TimeUnit.NANOSECONDS.toMillis(limit
                - System.nanoTime())) {
            wait(left);
        }
        return events;
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
