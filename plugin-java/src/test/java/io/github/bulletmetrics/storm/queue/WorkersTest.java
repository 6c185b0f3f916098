package io.github.bulletmetrics.storm.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.github.bulletmetrics.storm.proto.v1.WorkerInfo;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WorkersTest {
    private final Workers workers = new Workers();

    @Test
    void aWorkerIsReportedOnceItsProcessIsKnownAndWhenItChanges() {
        Worker a = workers.worker("a", 6700);
        workers.report(a, 4, 500);
        assertThat(workers.version()).isZero();
        workers.process(a, 77, 1_000);
        Workers.Changes first = workers.changedSince(0, 10);
        assertThat(first.workers()).extracting(WorkerInfo::getPid, WorkerInfo::getStartTimeMs, WorkerInfo::getTasksList,
                WorkerInfo::getTaskTimesMsList)
                .containsExactly(tuple(77L, 1_000L, List.of(4), List.of(500L)));

        workers.process(a, 77, 1_000);
        workers.report(a, 4, 600);
        assertThat(workers.version()).isEqualTo(first.version());

        workers.process(a, 78, 2_000);
        Workers.Changes second = workers.changedSince(first.version(), 10);
        assertThat(second.workers()).extracting(WorkerInfo::getPid, WorkerInfo::getTaskTimesMsList)
                .containsExactly(tuple(78L, List.of(600L)));

        workers.process(a, 77, 1_000);
        assertThat(workers.version()).as("a late pack of the process before").isEqualTo(second.version());
    }

    @Test
    void aTaskThatMovesLeavesItsWorkerAndMayComeBack() {
        Worker a = workers.worker("a", 6700);
        Worker b = workers.worker("b", 6700);
        workers.process(a, 1, 1);
        workers.process(b, 2, 2);
        workers.report(a, 900, 100);
        long before = workers.version();
        workers.report(b, 900, 200);
        assertThat(workers.changedSince(before, 10).workers()).extracting(WorkerInfo::getHost, WorkerInfo::getTasksList)
                .containsExactly(tuple("a", List.of()), tuple("b", List.of(900)));
        before = workers.version();
        workers.report(a, 900, 150);
        assertThat(workers.version()).as("a late report from where it was").isEqualTo(before);
        workers.report(a, 900, 300);
        assertThat(workers.changedSince(before, 10).workers()).extracting(WorkerInfo::getHost, WorkerInfo::getTasksList)
                .containsExactly(tuple("b", List.of()), tuple("a", List.of(900)));
    }

    @Test
    void tasksBeyondTheBoundHaveNoPlace() {
        Worker a = workers.worker("a", 6700);
        workers.process(a, 1, 1);
        long before = workers.version();
        workers.report(a, Workers.MAX_TASKS, 1);
        workers.report(a, -1, 1);
        assertThat(workers.version()).isEqualTo(before);
        workers.report(a, Workers.MAX_TASKS - 1, 1);
        assertThat(workers.changedSince(before, 1).workers()).extracting(WorkerInfo::getTasksList)
                .containsExactly(List.of(Workers.MAX_TASKS - 1));
    }

    @Test
    void aReaderThatAsksForFewGetsTheRestNext() {
        for (int port = 1; port <= 25; port++) {
            workers.process(workers.worker("a", port), port, port);
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
            workers.process(workers.worker("a", port), port, port);
        }
        assertThat(workers.changedSince(0, Integer.MAX_VALUE).workers()).hasSize(Workers.MAX_WORKERS)
                .extracting(WorkerInfo::getPort).doesNotContain(1);
    }

    @Test
    void aWorkerThatMadeRoomIsBackWithItsNextReport() {
        Worker first = workers.worker("first", 1);
        workers.process(first, 7, 7);
        workers.report(first, 3, 10);
        for (int port = 1; port <= Workers.MAX_WORKERS; port++) {
            workers.process(workers.worker("a", port), port, port);
        }
        long before = workers.version();
        workers.report(first, 3, 20);
        assertThat(workers.changedSince(before, 10).workers()).extracting(WorkerInfo::getHost, WorkerInfo::getPid,
                WorkerInfo::getTasksList)
                .containsExactly(tuple("first", 7L, List.of(3)));
        assertThat(workers.changedSince(0, Integer.MAX_VALUE).workers()).hasSize(Workers.MAX_WORKERS);
    }
}
