package io.github.bulletmetrics.storm.sampler;

import java.util.ArrayList;
import java.util.List;

/** Makes packs for tests of those who read them. */
public final class PackBuilder {
    private SamplePack.Process process;
    private final List<long[]> rows = new ArrayList<>();
    private int lost;
    private long firstLostMs;
    private long lastLostMs;

    public PackBuilder(long pid, long startTimeMs, String... collectors) {
        process = new SamplePack.Process(CpuMode.USER_AND_SYSTEM, pid, startTimeMs, List.of(collectors), false);
    }

    /** Each sample has the host's columns, too. */
    public PackBuilder withHost() {
        process = new SamplePack.Process(process.cpuMode(), process.pid(), process.startTimeMs(), process.collectors(),
                true);
        return this;
    }

    /** In the order of the format. */
    public PackBuilder sample(long... row) {
        rows.add(row);
        return this;
    }

    public PackBuilder lost(int samples, long firstMs, long lastMs) {
        lost = samples;
        firstLostMs = firstMs;
        lastLostMs = lastMs;
        return this;
    }

    public byte[] build() {
        return SamplePack.encode(process, lost, firstLostMs, lastLostMs, 0, rows);
    }
}
