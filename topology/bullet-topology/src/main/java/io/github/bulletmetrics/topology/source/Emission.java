package io.github.bulletmetrics.topology.source;

import com.yahoo.bullet.record.BulletRecord;

import java.util.ArrayList;
import java.util.List;

/**
 * What one task of the source emits and when: its shares of the background and of each probe. Pure: time is a
 * parameter. One thread writes; {@link #lag}, {@link #leftOut} and {@link #control} may be asked by any.
 *
 * <p>The background's values follow the task's own count, so that a seed gives the same records at any rate.
 */
final class Emission {
    private final GeneratorSettings settings;
    private final RecordGenerator generator;
    private final int task;
    private final int tasks;
    private volatile SourceControl control;
    private volatile Share background;
    private volatile List<ProbeShare> probes = List.of();
    private long backgroundIndex;
    private volatile long leftOut;

    private record ProbeShare(Probe probe, Share share) {
    }

    Emission(GeneratorSettings settings, int task, int tasks, long nowMicros) {
        this.settings = settings;
        this.task = task;
        this.tasks = tasks;
        generator = new RecordGenerator(settings.seed(), settings.variants());
        backgroundIndex = task;
        apply(settings.control(), nowMicros);
    }

    /** Changes the rates from now on. A share whose rate stays goes on undisturbed. */
    void apply(SourceControl next, long nowMicros) {
        if (next == control) {
            return;
        }
        if (background == null || background.perSecond() != next.recordsPerSecond()) {
            background = new Share(next.recordsPerSecond(), task, tasks, nowMicros);
        }
        List<ProbeShare> shares = new ArrayList<>();
        for (Probe probe : next.probes()) {
            shares.add(probes.stream().filter(kept -> kept.probe().equals(probe)).findFirst().orElseGet(
                () -> new ProbeShare(probe, new Share(probe.perSecond(), task, tasks, nowMicros))));
        }
        probes = shares;
        control = next;
    }

    SourceControl control() {
        return control;
    }

    /** The next record that is due, probes first, or null. */
    BulletRecord<?> next(long nowMicros) {
        for (ProbeShare entry : probes) {
            Share share = entry.share();
            if (share.isDue(nowMicros)) {
                BulletRecord<?> record =
                    generator.probe(entry.probe().value(), share.index(), share.dueMicros(), nowMicros / 1000);
                share.advance();
                return record;
            }
        }
        if (!background.isDue(nowMicros)) {
            return null;
        }
        BulletRecord<?> record = generator.background(backgroundIndex, nowMicros / 1000);
        background.advance();
        backgroundIndex += tasks;
        return record;
    }

    /** Leaves out what is later than the limit. */
    void leaveOutTooLate(long nowMicros) {
        long limitMicros = settings.maxLagMs() * 1000;
        long late = background.leaveOutOlder(nowMicros, limitMicros);
        for (ProbeShare entry : probes) {
            late += entry.share().leaveOutOlder(nowMicros, limitMicros);
        }
        if (late > 0) {
            leftOut = leftOut + late;
        }
    }

    /** Records due and not yet emitted. */
    long lag(long nowMicros) {
        long lag = background.lag(nowMicros);
        for (ProbeShare entry : probes) {
            lag += entry.share().lag(nowMicros);
        }
        return lag;
    }

    /** Records left out since the start, because they were too late. */
    long leftOut() {
        return leftOut;
    }
}
