package io.github.bulletmetrics.storm.latency;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * A pack: the current distributions of a task as one byte array, a type that Kryo can serialize on every Storm.
 *
 * <p>The format is version 1. All numbers are big-endian. A varint is encoded as in protobuf: 7 bits per byte, least
 * significant first, and the high bit means that more bytes follow.
 *
 * <pre>
 *    u8   version = 1
 *    i8   schema of all buckets, -4 to 8
 *   f64   zero threshold, s
 *    u8   n, the number of distributions, at most 16
 *         n times:
 *    u8   length, then the name as UTF-8, such as "bullet_filter_latency_seconds"
 *    u8   length, then the key as UTF-8, such as "complete"; length 0 if there is none
 * varint  observations that count as zero
 * varint  negative observations, in no bucket and not in the sum
 *   f64   sum, s
 *   u16   r, the number of runs of adjacent buckets
 *         r times:
 *   i16   the first bucket's index; behind the run before
 *   u16   b, the number of buckets, at least 1
 *         b varints: observations in each
 * </pre>
 *
 * <p>Everything counts from the task's start. Nothing follows the last distribution. {@link #read} refuses other
 * versions. Consumer and hook come from the same jar, except while the jar is being replaced.
 */
public final class LatencyPack {
    /** The one version that there is. */
    static final int VERSION = 1;
    /** Distributions in one pack. */
    static final int MAX_DISTRIBUTIONS = 16;
    /** Buckets of one distribution, the empty ones within its runs included: what the collector takes. */
    static final int MAX_BUCKETS = 4_096;
    /** Empty buckets that are written out rather than begin another run: a run costs more. */
    private static final int GAP_WITHIN_RUN = 2;
    private static final int MIN_SCHEMA = -4;
    private static final int MAX_SCHEMA = 8;
    private static final int MAX_VARINT_SHIFT = 63;
    private static final int HEAD_BYTES = 1 + 1 + 8 + 1;
    private static final int MAX_TEXT_BYTES = 255;

    private final int schema;
    private final double zeroThreshold;
    private final List<Distribution> distributions;

    private LatencyPack(int schema, double zeroThreshold, List<Distribution> distributions) {
        this.schema = schema;
        this.zeroThreshold = zeroThreshold;
        this.distributions = distributions;
    }

    /** The buckets' resolution. */
    public int schema() {
        return schema;
    }

    /** Values below this count as zero, s. */
    public double zeroThreshold() {
        return zeroThreshold;
    }

    /** The distributions. */
    public List<Distribution> distributions() {
        return distributions;
    }

    /** Writes packs of a task's histograms. */
    public static final class Writer {
        private final List<byte[]> heads = new ArrayList<>();
        private final List<LatencyHistogram> histograms = new ArrayList<>();
        private int sizeBefore = 256;

        /** Writes packs of nothing. */
        public Writer() {
        }

        /**
         * Adds a histogram, which is read again for each pack.
         *
         * @param name the metric.
         * @param key distinguishes it from others of the metric; "" if there is none.
         */
        public Writer add(String name, String key, LatencyHistogram histogram) {
            byte[] nameBytes = text(name);
            byte[] keyBytes = text(key);
            if (histograms.size() == MAX_DISTRIBUTIONS) {
                throw new IllegalStateException("a pack has at most " + MAX_DISTRIBUTIONS + " distributions");
            }
            heads.add(ByteBuffer.allocate(2 + nameBytes.length + keyBytes.length).put((byte) nameBytes.length).put(
                    nameBytes)
                    .put((byte) keyBytes.length).put(keyBytes).array());
            histograms.add(histogram);
            return this;
        }

        private static byte[] text(String text) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            if (bytes.length > MAX_TEXT_BYTES) {
                throw new IllegalArgumentException("'" + text + "' is longer than " + MAX_TEXT_BYTES + " bytes");
            }
            return bytes;
        }

        /** The histograms as they are now. */
        public byte[] write() {
            Bytes out = new Bytes(sizeBefore + 64);
            out.u8(VERSION);
            out.u8(Buckets.SCHEMA);
            out.f64(LatencyHistogram.ZERO_THRESHOLD_SECONDS);
            out.u8(histograms.size());
            for (int i = 0; i < histograms.size(); i++) {
                out.bytes(heads.get(i));
                write(histograms.get(i), out);
            }
            byte[] pack = out.toArray();
            sizeBefore = pack.length;
            return pack;
        }

        private static void write(LatencyHistogram histogram, Bytes out) {
            out.varint(histogram.zeros());
            out.varint(histogram.negatives());
            out.f64(histogram.sumSeconds());
            int runsAt = out.size();
            out.u16(0);
            int runs = 0;
            for (int from = nextFilled(histogram, LatencyHistogram.FIRST_BUCKET); from < histogram.endBucket();) {
                int to = endOfRun(histogram, from);
                out.u16(from);
                out.u16(to - from);
                for (int index = from; index < to; index++) {
                    out.varint(histogram.inBucket(index));
                }
                runs++;
                from = nextFilled(histogram, to);
            }
            out.u16At(runsAt, runs);
        }

        private static int nextFilled(LatencyHistogram histogram, int from) {
            int index = from;
            while (index < histogram.endBucket() && histogram.inBucket(index) == 0) {
                index++;
            }
            return index;
        }

        private static int endOfRun(LatencyHistogram histogram, int from) {
            int end = from + 1;
            for (int next = nextFilled(histogram, end); next < histogram.endBucket() && next - end <= GAP_WITHIN_RUN;) {
                end = next + 1;
                next = nextFilled(histogram, end);
            }
            return end;
        }
    }

    /**
     * Reads a pack.
     *
     * @throws IllegalArgumentException when it is no pack of a known version; the message states why.
     */
    public static LatencyPack read(byte[] pack) {
        if (pack.length < HEAD_BYTES) {
            throw new IllegalArgumentException("the latency hook sent a truncated pack of " + pack.length
                    + " bytes");
        }
        ByteBuffer in = ByteBuffer.wrap(pack);
        int version = in.get();
        if (version != VERSION) {
            throw new IllegalArgumentException("the latency hook sent a pack of version " + version
                    + ", but this consumer reads version "
                    + VERSION + "; use the same plugin jar on all hosts");
        }
        try {
            return read(in);
        } catch (BufferUnderflowException tooShort) {
            throw new IllegalArgumentException("the latency hook sent a truncated pack of " + pack.length
                    + " bytes", tooShort);
        }
    }

    private static LatencyPack read(ByteBuffer in) {
        int schema = in.get();
        double zeroThreshold = in.getDouble();
        int n = in.get() & 0xff;
        check(schema >= MIN_SCHEMA && schema <= MAX_SCHEMA, "schema", schema);
        check(zeroThreshold >= 0 && zeroThreshold < Double.POSITIVE_INFINITY, "zero threshold", zeroThreshold);
        check(n <= MAX_DISTRIBUTIONS, "number of distributions", n);
        List<Distribution> distributions = new ArrayList<>(n);
        for (int i = 0; i < n; i++) {
            distributions.add(new Distribution(in));
        }
        check(!in.hasRemaining(), "number of excess bytes", in.remaining());
        return new LatencyPack(schema, zeroThreshold, Collections.unmodifiableList(distributions));
    }

    private static void check(boolean holds, String what, Object value) {
        if (!holds) {
            throw new IllegalArgumentException("the latency hook sent a pack whose " + what + " is " + value);
        }
    }

    private static long varint(ByteBuffer in) {
        long value = 0;
        for (int shift = 0; shift <= MAX_VARINT_SHIFT; shift += 7) {
            byte next = in.get();
            value |= (long) (next & 0x7f) << shift;
            if (next >= 0) {
                check(value >= 0, "count", Long.toUnsignedString(value));
                return value;
            }
        }
        throw new IllegalArgumentException("the latency hook sent a pack with a count of more than 64 bits");
    }

    /** One distribution of a pack. Immutable. */
    public static final class Distribution {
        private final String name;
        private final String key;
        private final long zeros;
        private final long negatives;
        private final double sumSeconds;
        private final int[] firstBuckets;
        private final long[][] runs;
        private final long count;

        private Distribution(ByteBuffer in) {
            name = text(in);
            key = text(in);
            check(!name.isEmpty(), "distribution's name", "empty");
            zeros = varint(in);
            negatives = varint(in);
            sumSeconds = in.getDouble();
            check(Math.abs(sumSeconds) < Double.POSITIVE_INFINITY, "sum", sumSeconds);
            int number = in.getShort() & 0xffff;
            check(number <= MAX_BUCKETS, "number of runs", number);
            firstBuckets = new int[number];
            runs = new long[number][];
            count = buckets(in);
        }

        private long buckets(ByteBuffer in) {
            long sum = zeros;
            int buckets = 0;
            int end = Integer.MIN_VALUE;
            for (int run = 0; run < runs.length; run++) {
                int first = in.getShort();
                int length = in.getShort() & 0xffff;
                buckets += length;
                check(first >= end, "next bucket", first);
                check(length > 0 && buckets <= MAX_BUCKETS, "number of buckets", buckets);
                end = first + length;
                firstBuckets[run] = first;
                runs[run] = new long[length];
                for (int i = 0; i < length; i++) {
                    runs[run][i] = varint(in);
                    sum += runs[run][i];
                    check(sum >= 0, "count", "beyond 63 bits");
                }
            }
            return sum;
        }

        private static String text(ByteBuffer in) {
            byte[] bytes = new byte[in.get() & 0xff];
            in.get(bytes);
            return new String(bytes, StandardCharsets.UTF_8);
        }

        /** The metric. */
        public String name() {
            return name;
        }

        /** Distinguishes it from others of the metric; "" if there is none. */
        public String key() {
            return key;
        }

        /** Observations, the negative ones left out. */
        public long count() {
            return count;
        }

        /** Observations that count as zero. */
        public long zeros() {
            return zeros;
        }

        /** Negative observations. */
        public long negatives() {
            return negatives;
        }

        /** Sum of the observations, the negative ones left out, s. */
        public double sumSeconds() {
            return sumSeconds;
        }

        /** The number of runs of adjacent buckets, in ascending order. */
        public int runs() {
            return runs.length;
        }

        /** Index of a run's first bucket. */
        public int firstBucket(int run) {
            return firstBuckets[run];
        }

        /** The number of a run's buckets. */
        public int length(int run) {
            return runs[run].length;
        }

        /** Observations in a bucket of a run. */
        public long inBucket(int run, int bucket) {
            return runs[run][bucket];
        }
    }
}
