package io.github.bulletmetrics.topology.localprocess;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * Chooses TCP ports that are free now and likely to stay so: below the range from which the kernel takes the ports of
 * outgoing connections, since a worker binds its slot only minutes later.
 */
public final class FreePorts {
    private static final Path EPHEMERAL_RANGE = Path.of("/proc/sys/net/ipv4/ip_local_port_range");
    private static final int LOWEST = 10_000;
    private static final int DEFAULT_FIRST_EPHEMERAL = 32_768;
    private static final int MAX_TRIES = 10_000;

    private FreePorts() {
    }

    /** Distinct ports, at random, so that clusters started at the same time rarely choose the same. */
    public static List<Integer> choose(int count) throws IOException {
        int end = Math.max(firstEphemeral(), LOWEST + 1_000);
        Random random = new Random();
        Set<Integer> chosen = new LinkedHashSet<>();
        for (int tries = 0; chosen.size() < count; tries++) {
            if (tries == MAX_TRIES) {
                throw new IOException("found no " + count + " free TCP ports between " + LOWEST + " and " + end);
            }
            int port = LOWEST + random.nextInt(end - LOWEST);
            if (isFree(port)) {
                chosen.add(port);
            }
        }
        return new ArrayList<>(chosen);
    }

    private static int firstEphemeral() {
        try {
            return Integer.parseInt(Files.readString(EPHEMERAL_RANGE).trim().split("\\s+")[0]);
        } catch (IOException | NumberFormatException e) {
            return DEFAULT_FIRST_EPHEMERAL;
        }
    }

    /** On all addresses: a worker binds the wildcard. */
    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }
}
