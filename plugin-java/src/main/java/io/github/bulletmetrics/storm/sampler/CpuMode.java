package io.github.bulletmetrics.storm.sampler;

/** The parts into which a process' CPU time is divided. */
public enum CpuMode {
    /** Time in user mode and time in the kernel, from Linux' {@code /proc/self/stat}. */
    USER_AND_SYSTEM(0),
    /** One figure for both, from the JVM. */
    TOTAL(1);

    private final int code;

    CpuMode(int code) {
        this.code = code;
    }

    /** How a pack has it. */
    int code() {
        return code;
    }

    /** The mode of a code; null for an unknown one. */
    static CpuMode of(int code) {
        for (CpuMode mode : values()) {
            if (mode.code == code) {
                return mode;
            }
        }
        return null;
    }
}
