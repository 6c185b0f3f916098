package io.github.bulletmetrics.topology.cluster;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Folds the parts of a metric's name that depend on the topology or the machine, so that names can be compared. */
final class MetricNames {
    private static final Pattern STREAM = Pattern.compile(
        "(__(?:ack|emit|transfer|execute|fail)-count|__(?:complete|execute|process)-latency)-(.+?)(\\.m1_rate)?");
    private static final Pattern POOL = Pattern.compile("memory\\.pools\\.(.+)\\.([^.]+)");
    private static final Pattern PEER = Pattern.compile("(__(?:send|recv)-iconnection-[A-Za-z]+)-.+:\\d+");

    private MetricNames() {
    }

    static String fold(String name) {
        Matcher stream = STREAM.matcher(name);
        if (stream.matches()) {
            return stream.group(1) + "-STREAM" + (stream.group(3) == null ? "" : stream.group(3));
        }
        Matcher pool = POOL.matcher(name);
        if (pool.matches()) {
            return "memory.pools.POOL." + pool.group(2);
        }
        Matcher peer = PEER.matcher(name);
        if (peer.matches()) {
            return peer.group(1) + "-PEER";
        }
        return name.startsWith("CGroup") ? "CGROUP" : name;
    }
}
