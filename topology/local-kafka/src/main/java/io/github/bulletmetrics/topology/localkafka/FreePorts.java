package io.github.bulletmetrics.topology.localkafka;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * Chooses TCP ports of loopback that are free now and likely to stay so for the seconds until the broker binds them: at random, below
 * the range from which the kernel takes the ports of outgoing connections.
 */
final class FreePorts {
    private static final int LOWEST = 10_000;
    /** Linux' default first port of outgoing connections. */
    private static final int END = 32_768;
    private static final int MAX_TRIES = 10_000;

    private FreePorts() {
    }

    static List<Integer> choose(int count) throws IOException {
        Random random = new Random();
        Set<Integer> chosen = new LinkedHashSet<>();
        for (int tries = 0; chosen.size() < count; tries++) {
            if (tries == MAX_TRIES) {
                throw new IOException("found no " + count + " free TCP ports between " + LOWEST + " and " + END);
            }
            int port = LOWEST + random.nextInt(END - LOWEST);
            if (isFree(port)) {
                chosen.add(port);
            }
        }
        return new ArrayList<>(chosen);
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }
}
