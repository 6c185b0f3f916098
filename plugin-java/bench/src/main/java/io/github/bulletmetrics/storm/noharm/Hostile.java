package io.github.bulletmetrics.storm.noharm;

import io.github.bulletmetrics.storm.hostile.HostileCollector;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;

/** The consumer with every kind of bad collector, each in a JVM of its own, the collector in another. */
public final class Hostile {
    static final String WELL = "none: the real one";

    private Hostile() {
    }

    /**
     * Prints the table.
     *
     * @param arguments the collector's program, the directory of captures; then WELL, DEAD and the kinds of
     *     {@link HostileCollector.Kind}, all where none is named.
     */
    public static void main(String[] arguments) throws Exception {
        Path capture = Paths.get(arguments[1], "capture-storm-2.8.4.jsonl");
        System.out.println("| collector | % of a core | at most, with compiling and garbage | p999 of a call, ms of CPU | the control's | p999 by the clock, ms | the control's | calls a second of the caller's CPU (least to most) "
                + "| samples queued | heap with the first tick, MiB | more at the end, MiB | load |");
        System.out.println("|---|---|---|---|---|---|---|---|---|---|---|---|");
        List<String> kinds = Arrays.asList(arguments).subList(2, arguments.length);
        if (kinds.isEmpty() || kinds.contains("WELL")) {
            try (Collector well = Collector.real(Paths.get(arguments[0]))) {
                cell(WELL, capture, well.address());
            }
        }
        if (kinds.isEmpty() || kinds.contains("DEAD")) {
            cell("DEAD PORT", capture, "127.0.0.1:" + deadPort());
        }
        for (HostileCollector.Kind kind : HostileCollector.Kind.values()) {
            if (!kinds.isEmpty() && !kinds.contains(kind.name())) {
                continue;
            }
            try (Collector hostile = Collector.hostile(kind.name())) {
                cell(kind.name(), capture, hostile.address());
            }
        }
    }

    private static void cell(String name, Path capture, String address) throws Exception {
        Jvm.run("-Xmx512m", HostileCell.class, name, capture.toString(), address);
    }

    private static int deadPort() throws Exception {
        try (ServerSocket nobody = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            return nobody.getLocalPort();
        }
    }
}
