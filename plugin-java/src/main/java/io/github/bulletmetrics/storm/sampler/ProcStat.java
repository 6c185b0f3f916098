package io.github.bulletmetrics.storm.sampler;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;

/**
 * The CPU time of the whole process, including garbage collector threads, from Linux' {@code /proc/self/stat}. See
 * proc(5).
 */
final class ProcStat implements Cpu {
    static final File SELF = new File("/proc/self/stat");
    /** One clock tick, ms: {@code getconf CLK_TCK} is 100 wherever Java runs on Linux. */
    static final int TICK_MS = 10;
    /** utime is the 14th field and stime the 15th; the 3rd is the first after the command's closing parenthesis. */
    private static final int FIELDS_BEFORE_UTIME = 14 - 3;
    /** A line has about 350 bytes; the command, in parentheses, at most 64. */
    private static final int MAX_BYTES = 2_048;

    private final File file;
    private final byte[] line = new byte[MAX_BYTES];

    ProcStat(File file) {
        this.file = file;
    }

    @Override
    public CpuMode mode() {
        return CpuMode.USER_AND_SYSTEM;
    }

    @Override
    public void read(long[] into) throws IOException {
        int length = 0;
        try (FileInputStream in = new FileInputStream(file)) {
            for (int n = in.read(line); n > 0; n = in.read(line, length, line.length - length)) {
                length += n;
            }
        }
        parse(line, length, into);
    }

    /** Reads utime and stime, in ms, from a line of {@code /proc/PID/stat}. */
    static void parse(byte[] line, int length, long[] into) throws IOException {
        int at = length - 1;
        while (at >= 0 && line[at] != ')') {
            at--;
        }
        at += 2;
        for (int field = 0; field < FIELDS_BEFORE_UTIME; field++) {
            at = afterSpace(line, length, at);
        }
        into[0] = number(line, length, at) * TICK_MS;
        into[1] = number(line, length, afterSpace(line, length, at)) * TICK_MS;
    }

    private static int afterSpace(byte[] line, int length, int from) throws IOException {
        for (int at = from; at < length; at++) {
            if (line[at] == ' ') {
                return at + 1;
            }
        }
        throw new IOException("/proc/self/stat ends before utime and stime");
    }

    private static long number(byte[] line, int length, int from) throws IOException {
        long number = 0;
        int at = from;
        while (at < length && line[at] >= '0' && line[at] <= '9') {
            number = number * 10 + line[at++] - '0';
        }
        if (at == from) {
            throw new IOException("/proc/self/stat has no number for utime or stime");
        }
        return number;
    }
}
