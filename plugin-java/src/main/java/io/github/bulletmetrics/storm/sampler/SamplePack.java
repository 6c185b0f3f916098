package io.github.bulletmetrics.storm.sampler;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;

/**
 * A pack: the samples that a worker's sampler took since Storm last read them. It is one byte array, a type that Kryo
 * can serialize on every Storm.
 *
 * <p>The format is version 3. All numbers are big-endian.
 *
 * <pre>
 * process (the same in every pack of a process)
 *    u8   version = 3
 *    u8   CPU mode: 0 user and system apart, 1 total
 *   i64   process id
 *   i64   process start, ms since the Unix epoch
 *    u8   c, the number of garbage collectors, at most 16
 *         c times: u16 length, then the name as UTF-8
 *    u8   h, the number of the host's columns: 6, or 0 where the machine does not have them
 * lost since the pack before
 *   i32   samples that had to make room
 *   i64   time of the first of them, ms; 0 when there is none
 *   i64   time of the last of them, ms; 0 when there is none
 * clock
 *   i64   when the pack was handed over, ms since the Unix epoch, by this process' clock
 * samples, oldest first
 *   u16   n, the number of samples, at most 130
 *         n times 6 + 2c + h i64: time (ms), CPU in user mode or in total (ms), CPU in the kernel (ms; 0 in mode 1),
 *         heap used, heap committed, heap limit (bytes), then for each collector: collections, time in them (ms),
 *     then of the host: CPU in user mode, in the kernel, idle while a disk was waited for, taken by the hypervisor,
 *     idle (ms), CPUs
 * </pre>
 *
 * <p>CPU and collections count from the start of the process, and the host's CPU from its first reading. A value of -1
 * could not be read. The host's values are read once in ten seconds, and are -1 in the other samples. Nothing follows
 * the samples. Version 2 has no host, and version 1 has no clock either. {@link #read} accepts these versions too, and
 * refuses all others. Consumer and sampler come from the same jar, except while the jar is being replaced.
 */
public final class SamplePack {
    /** A value that could not be read. */
    public static final long UNKNOWN = -1;

    /** The version that is written. */
    static final int VERSION = 3;
    /** The first version that has a clock. */
    private static final int WITH_CLOCK = 2;

    /** The modes of the host's CPU time, in the order of their columns. */
    public static final List<String> HOST_MODES = Collections.unmodifiableList(Arrays.asList("user", "system", "iowait",
            "steal", "idle"));

    // Columns of a sample.
    static final int TIME = 0;
    static final int CPU = 1;
    static final int CPU_SYSTEM = 2;
    static final int HEAP_USED = 3;
    static final int HEAP_COMMITTED = 4;
    static final int HEAP_LIMIT = 5;
    private static final int FIXED_COLUMNS = 6;

    private static final int LOST_BYTES = 4 + 8 + 8;
    private static final int CLOCK_BYTES = 8;
    private static final int MAX_NAME_BYTES = 256;

    private final ByteBuffer bytes;
    private final int processBytes;
    private final boolean hasClock;
    private final int samples;
    private final int columns;

    private SamplePack(ByteBuffer bytes, int processBytes, boolean hasClock, int samples, int columns) {
        this.bytes = bytes;
        this.processBytes = processBytes;
        this.hasClock = hasClock;
        this.samples = samples;
        this.columns = columns;
    }

    /** Those of a sample of a process. */
    static int columns(Process process) {
        return columns(process.collectors().size(), process.hasHost());
    }

    private static int columns(int collectors, boolean hasHost) {
        return host(collectors) + (hasHost ? HostCpu.COLUMNS : 0);
    }

    /** The first of the host's columns. */
    static int host(int collectors) {
        return FIXED_COLUMNS + 2 * collectors;
    }

    static int gcCount(int collector) {
        return FIXED_COLUMNS + 2 * collector;
    }

    static int gcTime(int collector) {
        return FIXED_COLUMNS + 2 * collector + 1;
    }

    static byte[] encode(Process process, int lost, long firstLostMs, long lastLostMs, long sentByWorkerMs,
            Collection<long[]> rows) {
        byte[] head = process.encode();
        int columns = columns(process);
        ByteBuffer out = ByteBuffer.allocate(head.length + LOST_BYTES + CLOCK_BYTES + 2 + rows.size() * columns * 8);
        out.put(head).putInt(lost).putLong(firstLostMs).putLong(lastLostMs).putLong(sentByWorkerMs)
                .putShort((short) rows.size());
        for (long[] row : rows) {
            for (int column = 0; column < columns; column++) {
                out.putLong(row[column]);
            }
        }
        return out.array();
    }

    /**
     * Reads a pack. The array is not copied.
     *
     * @throws IllegalArgumentException when it is no pack of a known version; the message states why.
     */
    public static SamplePack read(byte[] pack) {
        ByteBuffer bytes = ByteBuffer.wrap(pack);
        try {
            int version = bytes.get(0);
            if (version < 1 || version > VERSION) {
                throw new IllegalArgumentException("a worker's sampler sent a pack of version " + version
                        + ", but this consumer reads version " + VERSION
                        + "; use the same plugin jar on all hosts");
            }
            int collectors = bytes.get(Process.COLLECTORS_AT) & 0xff;
            check(collectors <= ProcessReader.MAX_COLLECTORS, collectors, "garbage collectors");
            int at = Process.COLLECTORS_AT + 1;
            for (int i = 0; i < collectors; i++) {
                at += 2 + (bytes.getShort(at) & 0xffff);
            }
            boolean hasHost = false;
            if (version == VERSION) {
                int hostColumns = bytes.get(at++) & 0xff;
                check(hostColumns == 0 || hostColumns == HostCpu.COLUMNS, hostColumns, "host columns");
                hasHost = hostColumns > 0;
            }
            boolean hasClock = version >= WITH_CLOCK;
            int head = at + headBytes(hasClock);
            int samples = bytes.getShort(head) & 0xffff;
            check(samples <= SampleBuffer.CAPACITY, samples, "samples");
            int columns = columns(collectors, hasHost);
            int length = head + 2 + samples * columns * 8;
            if (length != pack.length || CpuMode.of(bytes.get(1)) == null) {
                throw new IllegalArgumentException("a worker's sampler sent a pack of " + pack.length
                        + " bytes; expected " + length);
            }
            return new SamplePack(bytes, at, hasClock, samples, columns);
        } catch (IndexOutOfBoundsException tooShort) {
            throw new IllegalArgumentException("a worker's sampler sent a truncated pack of " + pack.length
                    + " bytes", tooShort);
        }
    }

    private static void check(boolean holds, int number, String what) {
        if (!holds) {
            throw new IllegalArgumentException("a worker's sampler sent a pack with " + number + " " + what);
        }
    }

    private static int headBytes(boolean hasClock) {
        return LOST_BYTES + (hasClock ? CLOCK_BYTES : 0);
    }

    /**
     * When it was handed over, ms since the Unix epoch, by the clock of the process that it is of; 0 if it does not
     * say.
     */
    public long sentByWorkerMs() {
        return hasClock ? bytes.getLong(processBytes + LOST_BYTES) : 0;
    }

    /** Whether it is of the very process that another pack began with: no string is built. */
    public boolean isOf(byte[] processHead) {
        if (processHead.length != processBytes) {
            return false;
        }
        for (int i = 0; i < processBytes; i++) {
            if (processHead[i] != bytes.get(i)) {
                return false;
            }
        }
        return true;
    }

    /** The bytes that say of what process it is, for {@link #isOf}. */
    public byte[] processHead() {
        byte[] head = new byte[processBytes];
        System.arraycopy(bytes.array(), 0, head, 0, processBytes);
        return head;
    }

    /** The process that it is of. */
    public Process process() {
        return Process.decode(bytes);
    }

    /** Samples that were lost before these, since the pack before. */
    public int lost() {
        return bytes.getInt(processBytes);
    }

    /** Event time of the first lost sample, ms; meaningless when none was lost. */
    public long firstLostMs() {
        return bytes.getLong(processBytes + 4);
    }

    /** Event time of the last lost sample, ms; meaningless when none was lost. */
    public long lastLostMs() {
        return bytes.getLong(processBytes + 12);
    }

    /** The number of samples. */
    public int samples() {
        return samples;
    }

    /** Event time of a sample, ms since the Unix epoch. */
    public long timeMs(int sample) {
        return column(sample, TIME);
    }

    /** CPU time in user mode, or in total, since the process started, ms. */
    public long cpuMs(int sample) {
        return column(sample, CPU);
    }

    /** CPU time in the kernel since the process started, ms; 0 where the mode is {@link CpuMode#TOTAL}. */
    public long cpuSystemMs(int sample) {
        return column(sample, CPU_SYSTEM);
    }

    /** Heap in use, bytes. */
    public long heapUsedBytes(int sample) {
        return column(sample, HEAP_USED);
    }

    /** Heap that the JVM has from the system, bytes. */
    public long heapCommittedBytes(int sample) {
        return column(sample, HEAP_COMMITTED);
    }

    /** Heap that the JVM may have, bytes. */
    public long heapLimitBytes(int sample) {
        return column(sample, HEAP_LIMIT);
    }

    /** Collections of a collector since the process started. */
    public long gcCount(int sample, int collector) {
        return column(sample, gcCount(collector));
    }

    /** Time in collections of a collector since the process started, ms. */
    public long gcTimeMs(int sample, int collector) {
        return column(sample, gcTime(collector));
    }

    /**
     * CPU time of the host in a mode since it was first read, ms, in the order of {@link #HOST_MODES}, or behind them
     * its CPUs.
     */
    public long host(int sample, int hostColumn) {
        return column(sample, columns - HostCpu.COLUMNS + hostColumn);
    }

    private long column(int sample, int column) {
        return bytes.getLong(processBytes + headBytes(hasClock) + 2 + (sample * columns + column) * 8);
    }

    /** The facts that do not change while a worker's process lives. Immutable. */
    public static final class Process {
        static final int COLLECTORS_AT = 1 + 1 + 8 + 8;

        private final CpuMode cpuMode;
        private final long pid;
        private final long startTimeMs;
        private final List<String> collectors;
        private final boolean hasHost;

        Process(CpuMode cpuMode, long pid, long startTimeMs, List<String> collectors, boolean hasHost) {
            this.cpuMode = cpuMode;
            this.pid = pid;
            this.startTimeMs = startTimeMs;
            this.collectors = Collections.unmodifiableList(collectors);
            this.hasHost = hasHost;
        }

        /** How the CPU time is divided. */
        public CpuMode cpuMode() {
            return cpuMode;
        }

        /** The process' id on its host; 0 if unknown. */
        public long pid() {
            return pid;
        }

        /** When the process started, ms since the Unix epoch. */
        public long startTimeMs() {
            return startTimeMs;
        }

        /** The garbage collectors, by the names that the JVM gives them. */
        public List<String> collectors() {
            return collectors;
        }

        /** Whether samples have the host's CPU too. */
        public boolean hasHost() {
            return hasHost;
        }

        private byte[] encode() {
            List<byte[]> names = new ArrayList<>();
            int length = COLLECTORS_AT + 2;
            for (String collector : collectors) {
                byte[] name = collector.getBytes(StandardCharsets.UTF_8);
                names.add(name.length <= MAX_NAME_BYTES ? name : Arrays.copyOf(name, MAX_NAME_BYTES));
                length += 2 + names.get(names.size() - 1).length;
            }
            ByteBuffer out = ByteBuffer.allocate(length);
            out.put((byte) VERSION).put((byte) cpuMode.code()).putLong(pid).putLong(startTimeMs)
                    .put((byte) names.size());
            for (byte[] name : names) {
                out.putShort((short) name.length).put(name);
            }
            return out.put((byte) (hasHost ? HostCpu.COLUMNS : 0)).array();
        }

        private static Process decode(ByteBuffer bytes) {
            ByteBuffer in = bytes.duplicate();
            in.position(0);
            int version = in.get();
            CpuMode mode = CpuMode.of(in.get());
            long pid = in.getLong();
            long startTimeMs = in.getLong();
            List<String> collectors = new ArrayList<>();
            for (int left = in.get() & 0xff; left > 0; left--) {
                byte[] name = new byte[in.getShort() & 0xffff];
                in.get(name);
                collectors.add(new String(name, StandardCharsets.UTF_8));
            }
            return new Process(mode, pid, startTimeMs, collectors, version == VERSION && in.get() != 0);
        }
    }
}
