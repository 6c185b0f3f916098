package io.github.bulletmetrics.storm.sampler;

/** The CPU time that all threads of this process have used since it started. Read by one thread. */
interface Cpu {
    /** The meaning of the values of {@link #read}. */
    CpuMode mode();

    /**
     * Reads the clock.
     *
     * @param into the time in user mode (or the total) goes to index 0, that in the kernel (or 0) to index 1, ms.
     * @throws java.io.IOException when it cannot be read just now.
     */
    void read(long[] into) throws java.io.IOException;

    /** The best that this machine has: Linux' figures, elsewhere the JVM's. */
    static Cpu ofThisMachine() {
        try {
            ProcStat procStat = new ProcStat(ProcStat.SELF);
            procStat.read(new long[2]);
            return procStat;
        } catch (java.io.IOException | RuntimeException notLinux) {
            return new JvmCpu();
        }
    }
}
