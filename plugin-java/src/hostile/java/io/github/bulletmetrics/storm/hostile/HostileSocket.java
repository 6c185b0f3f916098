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
    /** PING (6.7), with eight bytes to be sent back. */
    private static final byte[] PING = {0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    private static final int FRAMES_A_WRITE = 512;
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
            case PINGS:
                flood(in, out, PING);
                return;
            case SETTINGS:
                flood(in, out, SETTINGS);
                return;
            default:
                Thread.currentThread().join(); // until the socket is closed and the process ends
        }
        readToEnd(in);
    }

    /** What is left unread would reset the connection. */
    private static void readToEnd(InputStream in) throws IOException {
        byte[] ignored = new byte[1 << 12];
        while (in.read(ignored) >= 0) {
            // Nothing is made of it.
        }
    }

    /** Takes the answers too, so that nothing slows the plugin down in giving them. */
    private static void flood(InputStream in, OutputStream out, byte[] frame) throws IOException {
        daemon(() -> {
            try {
                readToEnd(in);
            } catch (IOException gone) {
                // Then the writing ends too.
            }
        });
        byte[] frames = new byte[frame.length * FRAMES_A_WRITE];
        for (int i = 0; i < FRAMES_A_WRITE; i++) {
            System.arraycopy(frame, 0, frames, i * frame.length, frame.length);
        }
        out.write(SETTINGS);
        while (true) {
            out.write(frames);
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
