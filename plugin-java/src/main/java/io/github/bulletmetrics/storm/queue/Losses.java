package io.github.bulletmetrics.storm.queue;

import io.github.bulletmetrics.storm.proto.v1.Drop;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.Gap;
import java.util.ArrayList;
import java.util.List;

/**
 * Counts the samples that were dropped, by reason, and the times for which samples are therefore missing. The collector
 * gets both, so that nothing is lost silently: a dropped sample is visible as a counter and as a gap.
 *
 * <p>Any thread may use it: the consumer's thread counts what the queue refuses, and the sender's thread counts what it
 * abandons. While nothing is dropped, the consumer's thread does not take the lock.
 */
public final class Losses {
    /** Gaps kept for the next batch; beyond it the last one is stretched instead. */
    static final int MAX_GAPS = 64;
    /** Two losses that are no further apart than this are one gap, ms: the longest interval at which Storm reports. */
    static final long SAME_GAP_MS = 127_000;

    private final long[] totals = new long[DropReason.values().length];
    private final List<Gap.Builder> gaps = new ArrayList<>();

    /** Counts samples that leave no gap on the time axis, such as a value that is no number. */
    public synchronized void dropped(DropReason reason, long samples) {
        totals[reason.getNumber()] += samples;
    }

    /** Counts samples of any worker whose event times lie between two times, both included, ms. */
    public void droppedBetween(DropReason reason, long samples, long firstMs, long lastMs) {
        droppedBetween(reason, samples, firstMs, lastMs, "", 0);
    }

    /** Counts samples of one worker whose event times lie between two times, both included, ms. */
    public synchronized void droppedBetween(DropReason reason, long samples, long firstMs, long lastMs, String host,
            int port) {
        dropped(reason, samples);
        Gap.Builder gap = gapToStretch(reason, firstMs, lastMs, host, port);
        if (gap == null) {
            gaps.add(Gap.newBuilder().setReason(reason).setHost(host).setPort(port).setStartTimeMs(
                    firstMs).setEndTimeMs(lastMs));
            return;
        }
        gap.setStartTimeMs(Math.min(gap.getStartTimeMs(), firstMs)).setEndTimeMs(Math.max(gap.getEndTimeMs(), lastMs));
    }

    private Gap.Builder gapToStretch(DropReason reason, long firstMs, long lastMs, String host, int port) {
        for (int i = gaps.size() - 1; i >= 0; i--) {
            Gap.Builder gap = gaps.get(i);
            if (gap.getReason() == reason && gap.getPort() == port && gap.getHost().equals(host)
                    && firstMs <= gap.getEndTimeMs() + SAME_GAP_MS && lastMs >= gap.getStartTimeMs() - SAME_GAP_MS) {
                return gap;
            }
        }
        if (gaps.size() < MAX_GAPS) {
            return null;
        }
        // Out of room: the newest gap stands for all workers from here on.
        return gaps.get(gaps.size() - 1).setHost("").setPort(0);
    }

    /** Samples dropped for a reason since the sender began. */
    public synchronized long total(DropReason reason) {
        return totals[reason.getNumber()];
    }

    /** Samples dropped since the sender began. */
    public synchronized long total() {
        long sum = 0;
        for (long total : totals) {
            sum += total;
        }
        return sum;
    }

    /** The totals of every reason for which there was a drop. */
    public synchronized List<Drop> drops() {
        List<Drop> drops = new ArrayList<>();
        for (int reason = 0; reason < totals.length; reason++) {
            if (totals[reason] > 0) {
                drops.add(Drop.newBuilder().setReason(DropReason.forNumber(reason)).setTotalSamples(
                        totals[reason]).build());
            }
        }
        return drops;
    }

    /** Hands over the gaps since the last call. */
    public synchronized List<Gap> takeGaps() {
        List<Gap> taken = new ArrayList<>(gaps.size());
        for (Gap.Builder gap : gaps) {
            taken.add(gap.build());
        }
        gaps.clear();
        return taken;
    }

    /** Puts back gaps that were taken and not delivered. */
    public synchronized void putBack(List<Gap> undelivered) {
        for (Gap gap : undelivered) {
            droppedBetween(gap.getReason(), 0, gap.getStartTimeMs(), gap.getEndTimeMs(), gap.getHost(), gap.getPort());
        }
    }
}
