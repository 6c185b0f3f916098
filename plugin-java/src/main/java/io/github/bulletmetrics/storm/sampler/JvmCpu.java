package io.github.bulletmetrics.storm.sampler;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;

/** The process' CPU time according to the JVM: {@code com.sun.management.OperatingSystemMXBean.getProcessCpuTime}. */
final class JvmCpu implements Cpu {
    @Override
    public CpuMode mode() {
        return CpuMode.TOTAL;
    }

    @Override
    public void read(long[] into) throws IOException {
        java.lang.management.OperatingSystemMXBean system = ManagementFactory.getOperatingSystemMXBean();
        if (!(system instanceof com.sun.management.OperatingSystemMXBean)) {
            throw new IOException("this JVM does not report its CPU time");
        }
        long cpuNanos = ((com.sun.management.OperatingSystemMXBean) system).getProcessCpuTime();
        if (cpuNanos < 0) {
            throw new IOException("this platform does not report the CPU time of a process");
        }
        into[0] = TimeUnit.NANOSECONDS.toMillis(cpuNanos);
        into[1] = 0;
    }
}
