package io.github.bulletmetrics.storm.sampler;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.MemoryUsage;
import java.lang.management.RuntimeMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Reads CPU, heap and garbage collections of this process, and at longer intervals its host's CPU. Not thread-safe.
 */
final class ProcessReader {
    /** Collectors that a pack has room for; a JVM has two or three. */
    static final int MAX_COLLECTORS = 16;

    private final Cpu cpu = Cpu.ofThisMachine();
    private final long[] cpuMs = new long[2];
    private final MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    private final List<Collector> collectors;
    private final HostCpu host = HostCpu.ofThisMachine();
    private long hostTurn = Long.MIN_VALUE;

    ProcessReader() {
        RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
        List<Collector> all = Collector.of(ManagementFactory.getGarbageCollectorMXBeans(),
                () -> JvmCounters.ofProcess(pid(runtime.getName()), runtime.getStartTime()));
        collectors = all.subList(0, Math.min(all.size(), MAX_COLLECTORS));
    }

    /** The facts that do not change while the process lives. */
    SamplePack.Process process() {
        RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
        List<String> names = new ArrayList<>();
        for (Collector collector : collectors) {
            names.add(collector.name());
        }
        return new SamplePack.Process(cpu.mode(), pid(runtime.getName()), runtime.getStartTime(), names, host != null);
    }

    /** Reads a sample. Values that cannot be read are {@link SamplePack#UNKNOWN}. */
    long[] read() {
        long[] row = new long[SamplePack.host(collectors.size()) + (host == null ? 0 : HostCpu.COLUMNS)];
        readCpu(row);
        MemoryUsage heap = memory.getHeapMemoryUsage();
        row[SamplePack.HEAP_USED] = heap.getUsed();
        row[SamplePack.HEAP_COMMITTED] = heap.getCommitted();
        row[SamplePack.HEAP_LIMIT] = heap.getMax() >= 0 ? heap.getMax() : Runtime.getRuntime().maxMemory();
        for (int i = 0; i < collectors.size(); i++) {
            row[SamplePack.gcCount(i)] = collectors.get(i).count();
            row[SamplePack.gcTime(i)] = collectors.get(i).timeMs();
        }
        if (host != null) {
            readHost(row, SamplePack.host(collectors.size()), System.currentTimeMillis());
        }
        // Last, so that the time is never before what was read.
        row[SamplePack.TIME] = System.currentTimeMillis();
        return row;
    }

    private void readCpu(long[] row) {
        try {
            cpu.read(cpuMs);
            row[SamplePack.CPU] = cpuMs[0];
            row[SamplePack.CPU_SYSTEM] = cpuMs[1];
        } catch (IOException unreadable) {
            row[SamplePack.CPU] = SamplePack.UNKNOWN;
            row[SamplePack.CPU_SYSTEM] = SamplePack.UNKNOWN;
        }
    }

    /**
     * The first sample has it, and then the last before each full {@link Sampler#HOST_INTERVAL_MS} of the wall clock.
     */
    private void readHost(long[] row, int at, long nowMs) {
        Arrays.fill(row, at, row.length, SamplePack.UNKNOWN);
        long turn = Sampler.hostTurn(nowMs);
        if (turn == hostTurn) {
            return;
        }
        try {
            host.read(row, at);
            hostTurn = turn;
        } catch (IOException unreadable) {
            // The next sample tries again.
        }
    }

    /** Java 8 has the pid only in the name "pid@host". 0 if it does not. */
    static long pid(String runtimeName) {
        int at = runtimeName.indexOf('@');
        try {
            return Long.parseLong(at < 0 ? runtimeName : runtimeName.substring(0, at));
        } catch (NumberFormatException noPid) {
            return 0;
        }
    }
}
