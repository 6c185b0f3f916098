package io.github.bulletmetrics.storm.jar;

import io.github.bulletmetrics.storm.WorkerSampler;
import io.github.bulletmetrics.storm.sampler.SamplePack;
import java.lang.ref.WeakReference;
import java.util.Random;

/**
 * Makes garbage, waits until no collection is under way, prints what the worker's sampler reports of the collections,
 * and ends when its standard input does. It is compiled for Java 8, so that it runs in old JVMs.
 *
 * <p>Arguments: MiB of objects that stay reachable, how many ms of pauses are enough, the most seconds that it takes.
 * It prints {@code time MS}, a line {@code collector COUNT MS NAME} for each collector, and {@code end}.
 */
public final class CollectMain {
    private static final int NODES_A_MIB = 1 << 14;
    private static final int NODES_A_TURN = 10_000;
    /** They make remark pauses last. */
    private static final int WEAK_REFERENCES = 200_000;

    private static Node[] living;
    private static WeakReference<?>[] weak;

    private CollectMain() {
    }

    /** 64 bytes, with its array. */
    private static final class Node {
        final long[] data = new long[3];
        final Node other;

        Node(Node other) {
            this.other = other;
        }
    }

    public static void main(String[] arguments) throws Exception {
        living = new Node[Integer.parseInt(arguments[0]) * NODES_A_MIB];
        weak = new WeakReference<?>[WEAK_REFERENCES];
        long enoughMs = Long.parseLong(arguments[1]);
        long endNanos = System.nanoTime() + Long.parseLong(arguments[2]) * 1_000_000_000L;
        WorkerSampler sampler = new WorkerSampler();
        SamplePack last = awaitNext(sampler);
        Random random = new Random(1);
        while (pausesMs(last) < enoughMs && System.nanoTime() < endNanos) {
            for (int i = 0; i < NODES_A_TURN; i++) {
                Node made = new Node(new Node(null));
                living[random.nextInt(living.length)] = made;
                weak[random.nextInt(weak.length)] = new WeakReference<>(made);
            }
            byte[] next = (byte[]) sampler.getValueAndReset();
            last = next == null ? last : SamplePack.read(next);
        }
        System.gc(); // With G1 and the flag that the test sets, a concurrent cycle to its end.
        print(awaitCalm(sampler, last));
        System.out.println("end");
        while (System.in.read() >= 0) {
            // until it is closed
        }
    }

    private static SamplePack awaitNext(WorkerSampler sampler) throws InterruptedException {
        while (true) {
            byte[] next = (byte[]) sampler.getValueAndReset();
            if (next != null) {
                return SamplePack.read(next);
            }
            Thread.sleep(10); // Storm asks at an interval, too: the sampler has no event to wait for.
        }
    }

    private static long pausesMs(SamplePack pack) {
        long sum = 0;
        for (int i = 0; i < pack.process().collectors().size(); i++) {
            sum += pack.process().collectors().get(i).endsWith("Cycles") ? 0 : pack.gcTimeMs(pack.samples() - 1, i);
        }
        return sum;
    }

    /** The first of the samples in which the numbers are those of the second before. */
    private static SamplePack awaitCalm(WorkerSampler sampler, SamplePack before) throws InterruptedException {
        SamplePack last = before;
        while (true) {
            SamplePack next = awaitNext(sampler);
            boolean isCalm = true;
            for (int i = 0; i < next.process().collectors().size(); i++) {
                isCalm &= next.gcCount(next.samples() - 1, i) == last.gcCount(last.samples() - 1, i)
                        && next.gcTimeMs(next.samples() - 1, i) == last.gcTimeMs(last.samples() - 1, i);
            }
            if (isCalm) {
                return next;
            }
            last = next;
        }
    }

    private static void print(SamplePack pack) {
        int newest = pack.samples() - 1;
        System.out.println("time " + pack.timeMs(newest));
        for (int i = 0; i < pack.process().collectors().size(); i++) {
            System.out.println("collector " + pack.gcCount(newest, i) + " " + pack.gcTimeMs(newest, i) + " "
                    + pack.process().collectors().get(i));
        }
    }
}
