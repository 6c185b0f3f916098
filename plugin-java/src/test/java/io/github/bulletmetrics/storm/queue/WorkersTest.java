package io.github.bulletmetrics.storm.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.storm.proto.v1.WorkerInfo;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WorkersTest {
    private final Workers workers = new Workers();

    @Test
    void aWorkerIsToldOnceItsProcessIsKnownAndWhenItChanges() {
        workers.task("a", 6700, 4);
        assertThat(workers.version()).isZero();
        workers.process("a", 6700, 77, 1_000);
        Workers.Changes first = workers.changedSince(0, 10);
        assertThat(first.workers()).extracting(WorkerInfo::getPid, WorkerInfo::getStartTimeMs, WorkerInfo::getTasksList)
                .containsExactly(org.assertj.core.groups.Tuple.tuple(77L, 1_000L, List.of(4)));

        workers.process("a", 6700, 77, 1_000);
        workers.task("a", 6700, 4);
        assertThat(workers.version()).isEqualTo(first.version());

        workers.process("a", 6700, 78, 2_000);
        assertThat(workers.changedSince(first.version(), 10).workers()).extracting(WorkerInfo::getPid).containsExactly(78L);
    }

    @Test
    void aTaskThatMovesLeavesItsWorker() {
        workers.process("a", 6700, 1, 1);
        workers.process("b", 6700, 2, 2);
        workers.task("a", 6700, 9);
        long before = workers.version();
        workers.task("b", 6700, 9);
        assertThat(workers.changedSince(before, 10).workers()).extracting(WorkerInfo::getHost, WorkerInfo::getTasksList)
                .containsExactly(org.assertj.core.groups.Tuple.tuple("a", List.of()), org.assertj.core.groups.Tuple.tuple("b", List.of(9)));
    }

    @Test
    void aReaderThatAsksForFewGetsTheRestNext() {
        for (int port = 1; port <= 25; port++) {
            workers.process("a", port, port, port);
        }
        List<Integer> ports = new ArrayList<>();
        for (long version = 0; version < workers.version();) {
            Workers.Changes changes = workers.changedSince(version, 10);
            changes.workers().forEach(worker -> ports.add(worker.getPort()));
            version = changes.version();
        }
        assertThat(ports).hasSize(25).doesNotHaveDuplicates();
    }

    @Test
    void theWorkerThatChangedLongestAgoMakesRoom() {
        for (int port = 1; port <= Workers.MAX_WORKERS + 1; port++) {
            workers.process("a", port, port, port);
        }
        assertThat(workers.changedSince(0, Integer.MAX_VALUE).workers()).hasSize(Workers.MAX_WORKERS)
                .extracting(WorkerInfo::getPort).doesNotContain(1);
    }
}
