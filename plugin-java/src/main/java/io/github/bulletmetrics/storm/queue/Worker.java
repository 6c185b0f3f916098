package io.github.bulletmetrics.storm.queue;

import io.github.bulletmetrics.storm.proto.v1.WorkerInfo;
import java.util.TreeSet;

/**
 * A worker's place, and what is known about the process that runs there. Only {@link Workers} uses its fields; other
 * classes only keep references to it.
 */
public final class Worker {
    final String host;
    final int port;
    /** Tasks whose newest report came from here. */
    final TreeSet<Integer> tasks = new TreeSet<>();
    /** 0 as long as its sampler has not reported it. */
    long pid;
    long startTimeMs;
    /** The version of its last change. */
    long version;
    /**
     * When its newest pack was handed over, by its own clock, and taken, by the consumer's; 0 where that was reported
     * already.
     */
    long sentByWorkerMs;
    long receivedMs;
    /** Whether it had to make room; the next report from it puts it back. */
    boolean forgotten;

    Worker(String host, int port) {
        this.host = host;
        this.port = port;
    }

    /**
     * As it travels.
     *
     * @param reportedMs when each task reported last, by the task's number.
     */
    WorkerInfo info(long[] reportedMs) {
        WorkerInfo.Builder info = WorkerInfo.newBuilder().setHost(host).setPort(port).setPid(pid)
                .setStartTimeMs(startTimeMs);
        for (int task : tasks) {
            info.addTasks(task).addTaskTimesMs(reportedMs[task]);
        }
        return info.build();
    }
}
