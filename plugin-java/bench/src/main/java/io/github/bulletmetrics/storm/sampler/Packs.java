package io.github.bulletmetrics.storm.sampler;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Packs as a worker's sampler makes them: a sample a second, two collectors of garbage, the host each tenth. */
public final class Packs {
    private static final SamplePack.Process PROCESS = new SamplePack.Process(CpuMode.USER_AND_SYSTEM, 4_711,
            1_600_000_000_000L,
            Arrays.asList("G1 Young Generation", "G1 Old Generation"), true);

    private Packs() {
    }

    /** Samples of the seconds that end at a time. */
    public static byte[] upTo(long timeMs, int samples) {
        List<long[]> rows = new ArrayList<>();
        for (int i = samples - 1; i >= 0; i--) {
            long at = timeMs - i * 1_000L;
            boolean host = at / 1_000 % 10 == 9;
            rows.add(new long[] {at, at / 10, at / 30, 300_000_000 + at % 1_000_000, 512 << 20, 768 << 20, at / 5_000,
                    at / 200, 2, 130,
                    host ? at / 2 : -1, host ? at / 9 : -1, host ? at / 70 : -1, host ? at / 900 : -1, host ? at : -1,
                    host ? 8 : -1});
        }
        return SamplePack.encode(PROCESS, 0, 0, 0, timeMs, rows);
    }
}
