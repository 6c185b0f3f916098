package io.github.bulletmetrics.storm.sampler;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The number and the total time of the collections of one garbage collector of this JVM. */
final class Collector {
    /**
     * G1's remark and cleanup pauses. From JDK 20 on a bean of this name reports them. In older JVMs no bean does, and
     * only the JVM's counters have them.
     */
    static final String G1_CONCURRENT = "G1 Concurrent GC";

    private static final String G1_YOUNG = "G1 Young Generation";
    private static final String G1_COUNTERS = "sun.gc.collector.2.";

    private final String name;
    private final LongSupplier count;
    private final LongSupplier timeMs;

    private Collector(String name, LongSupplier count, LongSupplier timeMs) {
        this.name = name;
        this.count = count;
        this.timeMs = timeMs;
    }

    /** The JVM's name of the collector. */
    String name() {
        return name;
    }

    /** Collections since the process started, or {@link SamplePack#UNKNOWN}. */
    long count() {
        return count.getAsLong();
    }

    /** Time in collections since the process started, ms, or {@link SamplePack#UNKNOWN}. */
    long timeMs() {
        return timeMs.getAsLong();
    }

    /**
     * The collectors of a JVM: its beans, and what its counters know beyond them. The beans come first because they are
     * public and at least as good: Shenandoah's counters of time are wrong, and ZGC of JDK 11 has none.
     *
     * @param counters opens the counters, and yields null if the JVM has none. It is asked only for G1 before JDK 20.
     */
    static List<Collector> of(List<GarbageCollectorMXBean> beans, Supplier<JvmCounters> counters) {
        List<Collector> all = new ArrayList<>();
        for (GarbageCollectorMXBean bean : beans) {
            all.add(new Collector(bean.getName(), bean::getCollectionCount, bean::getCollectionTime));
        }
        if (has(beans, G1_YOUNG) && !has(beans, G1_CONCURRENT)) {
            addG1Concurrent(all, counters.get());
        }
        return all;
    }

    private static boolean has(List<GarbageCollectorMXBean> beans, String name) {
        return beans.stream().anyMatch(bean -> bean.getName().equals(name));
    }

    private static void addG1Concurrent(List<Collector> all, JvmCounters counters) {
        if (counters == null) {
            return;
        }
        try {
            LongSupplier count = counters.number(G1_COUNTERS + "invocations");
            all.add(new Collector(G1_CONCURRENT, count, counters.ms(G1_COUNTERS + "time")));
        } catch (IOException unknown) {
            counters.close(); // JDK 8 does not count these pauses.
        }
    }
}
