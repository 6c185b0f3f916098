package io.github.bulletmetrics.storm.queue;

/** The source of samples: a task of a worker, and its reporting interval. Immutable. */
public final class Source {
    /** Storm task id of metrics that are a worker's own. */
    public static final int WORKER_TASK = -1;

    private final String host;
    private final int port;
    private final String component;
    private final int task;
    private final int intervalMs;

    /**
     * @param host the worker's host, as Storm's TaskInfo has it.
     * @param port the worker's port.
     * @param component the Storm component, such as "FilterBolt" or "__system".
     * @param task the Storm task; {@link #WORKER_TASK} for a worker's own metrics.
     * @param intervalMs how often the source reports, by its own account, ms.
     */
    public Source(String host, int port, String component, int task, int intervalMs) {
        this.host = host;
        this.port = port;
        this.component = component;
        this.task = task;
        this.intervalMs = intervalMs;
    }

    /** The worker's host. */
    public String host() {
        return host;
    }

    /** The worker's port. */
    public int port() {
        return port;
    }

    /** The Storm component. */
    public String component() {
        return component;
    }

    /** The Storm task. */
    public int task() {
        return task;
    }

    /** How often the source reports, by its own account, ms. */
    public int intervalMs() {
        return intervalMs;
    }
}
