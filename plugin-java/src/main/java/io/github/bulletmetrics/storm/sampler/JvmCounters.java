package io.github.bulletmetrics.storm.sampler;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * HotSpot's own counters of this process, which {@code jstat} reads too. HotSpot keeps them in the file {@code
 * /tmp/hsperfdata_USER/PID} unless {@code -XX:-UsePerfData} or {@code -XX:+PerfDisableSharedMem} is set.
 *
 * <p>The file is read and not mapped, because a process crashes if it reads a mapped file that another process has
 * truncated. It is not read through a channel either, because an interrupt of the thread would close the channel.
 */
final class JvmCounters implements Closeable {
    private static final File TEMPORARY = new File("/tmp");
    private static final String DIRECTORY_PREFIX = "hsperfdata_";

    private static final int MAGIC = 0xcafec0c0;
    private static final int MAJOR_VERSION = 2;
    /** HotSpot makes the file 32 KiB long unless {@code -XX:PerfDataMemorySize} is set. */
    private static final int MAX_BYTES = 1 << 20;

    // Offsets in the header.
    private static final int BYTE_ORDER = 4;
    private static final int MAJOR = 5;
    private static final int FIRST_ENTRY = 24;
    private static final int ENTRIES = 28;
    // Offsets in an entry, which begins with its own length.
    private static final int NAME = 4;
    private static final int VECTOR_LENGTH = 8;
    private static final int TYPE = 12;
    private static final int DATA = 16;
    private static final int LEAST_ENTRY = 20;

    private static final int MS_A_SECOND = 1_000;

    private final RandomAccessFile file;
    private final ByteOrder order;
    private final Map<String, Integer> places = new HashMap<>();

    /**
     * Opens a file of counters.
     *
     * @throws IOException if it cannot be read or is not such a file.
     */
    JvmCounters(File path) throws IOException {
        if (!path.isFile() || path.length() > MAX_BYTES) {
            throw new IOException(path + " is not a file, or has more than " + MAX_BYTES + " bytes");
        }
        file = new RandomAccessFile(path, "r");
        try {
            byte[] bytes = new byte[(int) file.length()];
            file.readFully(bytes);
            ByteBuffer contents = ByteBuffer.wrap(bytes);
            if (contents.getInt(0) != MAGIC || contents.get(MAJOR) != MAJOR_VERSION) {
                throw new IOException(path + " is not a file of JVM counters of version " + MAJOR_VERSION);
            }
            order = contents.get(BYTE_ORDER) == 0 ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
            readPlaces(contents.order(order));
        } catch (IndexOutOfBoundsException damaged) {
            close();
            throw new IOException(path + " is damaged", damaged);
        } catch (IOException unreadable) {
            close();
            throw unreadable;
        }
    }

    /**
     * The counters of this process; null if it has none.
     *
     * @param startTimeMs when the process started. A killed process leaves its file behind, and its id may be ours now.
     */
    static JvmCounters ofProcess(long pid, long startTimeMs) {
        return ofProcess(TEMPORARY, pid, startTimeMs);
    }

    /** Any user's directory may be ours: {@code user.name} is not always the name that HotSpot uses. */
    static JvmCounters ofProcess(File temporary, long pid, long startTimeMs) {
        File[] directories = temporary.listFiles((parent, name) -> name.startsWith(DIRECTORY_PREFIX));
        for (File directory : directories == null ? new File[0] : directories) {
            try {
                JvmCounters counters = new JvmCounters(new File(directory, Long.toString(pid)));
                if (counters.isOf(startTimeMs)) {
                    return counters;
                }
                counters.close();
            } catch (IOException another) {
                // The next may be.
            }
        }
        return null;
    }

    @Override
    public void close() {
        try {
            file.close();
        } catch (IOException unclosed) {
            // It was only read.
        }
    }

    /** The start time that the JVM reports lies within the creation of the VM. */
    private boolean isOf(long startTimeMs) {
        Integer begin = places.get("sun.rt.createVmBeginTime");
        Integer end = places.get("sun.rt.createVmEndTime");
        return begin != null && end != null && read(begin) <= startTimeMs && startTimeMs <= read(end);
    }

    /** @throws IOException if the JVM has no counter of this name. */
    LongSupplier number(String name) throws IOException {
        Integer place = places.get(name);
        if (place == null) {
            throw new IOException("this JVM has no counter " + name);
        }
        return () -> read(place);
    }

    /**
     * A counter of clock ticks, in ms.
     *
     * @throws IOException if the JVM has no counter of this name.
     */
    LongSupplier ms(String name) throws IOException {
        LongSupplier ticks = number(name);
        long ticksAMs = Math.max(1, number("sun.os.hrt.frequency").getAsLong() / MS_A_SECOND);
        return () -> {
            long now = ticks.getAsLong();
            return now == SamplePack.UNKNOWN ? now : now / ticksAMs;
        };
    }

    private void readPlaces(ByteBuffer contents) throws IOException {
        int at = contents.getInt(FIRST_ENTRY);
        for (int left = contents.getInt(ENTRIES); left > 0; left--) {
            if (contents.get(at + TYPE) == 'J' && contents.getInt(at + VECTOR_LENGTH) == 0) {
                places.put(text(contents, at + contents.getInt(at + NAME)), at + contents.getInt(at + DATA));
            }
            int length = contents.getInt(at);
            if (length < LEAST_ENTRY) {
                throw new IOException("invalid length of a counter: " + length + " bytes");
            }
            at += length;
        }
    }

    private static String text(ByteBuffer contents, int from) {
        int end = from;
        while (contents.get(end) != 0) {
            end++;
        }
        return new String(contents.array(), from, end - from, StandardCharsets.UTF_8);
    }

    /** The number as it is now; {@link SamplePack#UNKNOWN} if the file was truncated. */
    private long read(int place) {
        try {
            file.seek(place);
            long bigEndian = file.readLong();
            return order == ByteOrder.BIG_ENDIAN ? bigEndian : Long.reverseBytes(bigEndian);
        } catch (IOException unreadable) {
            return SamplePack.UNKNOWN;
        }
    }
}
