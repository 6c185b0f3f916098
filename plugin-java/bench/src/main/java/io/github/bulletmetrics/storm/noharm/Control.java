package io.github.bulletmetrics.storm.noharm;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that calls nothing of ours: at the times at which reports are handed over, halfway between them, it does as
 * many small pieces of a fixed work and times each. What these take by the clock beyond their CPU is the machine's
 * doing, and so would be as much of a call's.
 */
final class Control {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** About what a call takes, ns of CPU. */
    private static final long PIECE_NS = 12_000;
    private static final int CALIBRATING_STEPS = 20_000_000;

    private final long[][] took;
    private final Thread thread;
    private int count;
    private long state = 88_172_645_463_325_252L;

    /**
     * Makes the work as long as it is to be; starts nothing.
     *
     * @param times how often.
     * @param everyNs after how long, ns.
     * @param pieces how many pieces at each.
     */
    Control(int times, long everyNs, int pieces) {
        took = new long[2][times * pieces];
        work(CALIBRATING_STEPS); // compiled now
        long before = THREADS.getCurrentThreadCpuTime();
        work(CALIBRATING_STEPS);
        int steps = (int) (PIECE_NS * CALIBRATING_STEPS / (THREADS.getCurrentThreadCpuTime() - before));
        thread = new Thread(() -> run(times, everyNs, pieces, steps), "control");
        thread.setDaemon(true);
    }

    void start(Plugin beside) {
        beside.ignore(thread);
        thread.start();
    }

    private void run(int times, long everyNs, int pieces, int steps) {
        long began = System.nanoTime() + everyNs / 2;
        for (int time = 0; time < times; time++) {
            long due = began + time * everyNs;
            for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            for (int piece = 0; piece < pieces; piece++) {
                long cpu = THREADS.getCurrentThreadCpuTime();
                long before = System.nanoTime();
                work(steps);
                took[0][count] = System.nanoTime() - before;
                took[1][count++] = THREADS.getCurrentThreadCpuTime() - cpu;
            }
        }
    }

    private void work(int steps) {
        long x = state;
        for (int step = 0; step < steps; step++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        state = x;
    }

    /** Awaits its end: what the pieces took by the clock, and of CPU, each from the least to the most, ns. */
    long[][] took() throws InterruptedException {
        thread.join(TimeUnit.MINUTES.toMillis(10));
        Arrays.sort(took[0]);
        Arrays.sort(took[1]);
        return took;
    }
}
