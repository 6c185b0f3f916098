package io.github.bulletmetrics.storm.sampler;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * The CPU time of the machine from Linux' {@code /proc/stat}: that of all its processes, and the time that its
 * hypervisor gave to others; see proc(5). It counts from the creation of this object and never falls, although the
 * kernel's own values may fall slightly. Not thread-safe.
 */
final class HostCpu {
    static final File STAT = new File("/proc/stat");

    // Indices of what is read; the modes are ms and together the time of all CPUs.
    /** In user mode, niced processes and guests included. */
    static final int USER = 0;
    /** In the kernel, interrupts included. */
    static final int SYSTEM = 1;
    /** Idle, while a process waited for its disk. */
    static final int IOWAIT = 2;
    /** Taken by the hypervisor for others. */
    static final int STEAL = 3;
    static final int IDLE = 4;
    static final int MODES = 5;
    /** CPUs that are online. */
    static final int CORES = MODES;
    static final int COLUMNS = MODES + 1;

    /**
     * The modes of the fields in the first line: user, nice, system, idle, iowait, irq, softirq, steal. Further fields
     * are included in user.
     */
    private static final int[] MODE_OF_FIELD = {USER, USER, SYSTEM, IDLE, IOWAIT, SYSTEM, SYSTEM, STEAL};
    /** Fields that every kernel since 2.6 has; steal came with 2.6.11. */
    private static final int LEAST_FIELDS = 7;

    private final File file;
    private final byte[] buffer = new byte[4_096];
    private final long[] first = new long[COLUMNS];
    private final long[] now = new long[COLUMNS];
    private final long[] last = new long[MODES];

    /** @throws IOException where the machine has no such file. */
    HostCpu(File file) throws IOException {
        this.file = file;
        read(file, buffer, first);
    }

    /** The CPU time of this machine; null if it has no such file. */
    static HostCpu ofThisMachine() {
        try {
            return new HostCpu(STAT);
        } catch (IOException | RuntimeException notLinux) {
            return null;
        }
    }

    /**
     * Reads the clock.
     *
     * @param into receives {@link #COLUMNS} numbers from an index on.
     * @throws IOException when it cannot be read just now; nothing is written then.
     */
    void read(long[] into, int at) throws IOException {
        read(file, buffer, now);
        for (int mode = 0; mode < MODES; mode++) {
            last[mode] = Math.max(last[mode], now[mode] - first[mode]);
            into[at + mode] = last[mode];
        }
        into[at + CORES] = now[CORES];
    }

    /** The first line is of all CPUs; then comes one for each, up to the first that is of something else. */
    private static void read(File file, byte[] buffer, long[] into) throws IOException {
        try (InputStream in = new FileInputStream(file)) {
            int length = 0;
            for (int n = in.read(buffer); n > 0; n = in.read(buffer, length, buffer.length - length)) {
                length += n;
            }
            int at = total(buffer, length, into);
            into[CORES] = 0;
            while (length > 0) {
                for (; at < length; at++) {
                    if (buffer[at] == '\n' && at + 1 < length) {
                        if (buffer[at + 1] != 'c') {
                            return;
                        }
                        into[CORES]++;
                    }
                }
                // A line's end that came last shows nothing of the next line: it is looked at again.
                boolean ended = buffer[length - 1] == '\n';
                length = in.read(buffer, ended ? 1 : 0, buffer.length - 1);
                if (ended && length > 0) {
                    buffer[0] = '\n';
                    length++;
                }
                at = 0;
            }
        }
    }

    /** Reads the first line, and returns its end. */
    private static int total(byte[] line, int length, long[] into) throws IOException {
        java.util.Arrays.fill(into, 0, MODES, 0);
        if (length < 4 || line[0] != 'c' || line[1] != 'p' || line[2] != 'u' || line[3] != ' ') {
            throw new IOException("/proc/stat does not begin with the CPU time of the host");
        }
        int fields = 0;
        int at = 3;
        while (at < length && line[at] != '\n') {
            if (line[at] < '0' || line[at] > '9') {
                at++;
                continue;
            }
            long ticks = 0;
            for (; at < length && line[at] >= '0' && line[at] <= '9'; at++) {
                ticks = ticks * 10 + line[at] - '0';
            }
            if (fields < MODE_OF_FIELD.length) {
                into[MODE_OF_FIELD[fields]] += ticks * ProcStat.TICK_MS;
            }
            fields++;
        }
        if (fields < LEAST_FIELDS || at == length) {
            throw new IOException("/proc/stat has only " + fields + " CPU fields in its first line, or the line is too long");
        }
        return at;
    }
}
