package io.github.bulletmetrics.storm.hostile;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Those that never open a stream: bytes on a socket. */
final class HostileSocket implements HostileCollector {
    /** HTTP/2's empty SETTINGS frame (RFC 9113, 6.5). */
    private static final byte[] SETTINGS = {0, 0, 0, 4, 0, 0, 0, 0, 0};
    /** GOAWAY (6.8), last stream 0, NO_ERROR. */
    private static final byte[] GOAWAY = {0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    private static final int GARBAGE_BYTES = 1 << 16;

    private final Kind kind;
    private final long pauseMs;
    private final ServerSocket server;
    private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
    private final AtomicLong met = new AtomicLong();

    HostileSocket(Kind kind, int port, long pauseMs) throws IOException {
        this.kind = kind;
        this.pauseMs = pauseMs;
        server = new ServerSocket(port, 50, InetAddress.getByName("127.0.0.1"));
        daemon(this::accept);
    }

    private static void daemon(Runnable work) {
        Thread thread = new Thread(work, "hostile-collector");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket connection = server.accept();
                connections.add(connection);
                met.incrementAndGet();
                daemon(() -> serve(connection));
            } catch (IOException closed) {
                return;
            }
        }
    }

    private void serve(Socket connection) {
        try (Socket closing = connection) {
            behave(closing);
        } catch (IOException | InterruptedException gone) {
            // The plugin went away, as it may.
        } finally {
            connections.remove(connection);
        }
    }

    private void behave(Socket connection) throws IOException, InterruptedException {
        InputStream in = connection.getInputStream();
        OutputStream out = connection.getOutputStream();
        switch (kind) {
            case SLOW:
                for (int i = 0; in.read() >= 0; i++) {
                    out.write(SETTINGS[i % SETTINGS.length]);
                    Thread.sleep(pauseMs);
                }
                return;
            case GARBAGE:
                byte[] garbage = new byte[GARBAGE_BYTES];
                new Random(connection.getPort()).nextBytes(garbage);
                out.write(garbage);
                break;
            case RESET:
                connection.setSoLinger(true, 0);
                return;
            case GOAWAY:
                out.write(SETTINGS);
                out.write(GOAWAY);
                break;
            default:
                Thread.currentThread().join(); // until the socket is closed and the process ends
        }
        byte[] ignored = new byte[1 << 12];
        while (in.read(ignored) >= 0) {
            // To the end: what is left unread would reset the connection.
        }
    }

    @Override
    public int port() {
        return server.getLocalPort();
    }

    @Override
    public long met() {
        return met.get();
    }

    @Override
    public void close() {
        try {
            server.close();
            for (Socket connection : connections) {
                connection.setSoLinger(true, 0);
                connection.close();
            }
        } catch (IOException closed) {
            // Then it is.
        }
    }
}
