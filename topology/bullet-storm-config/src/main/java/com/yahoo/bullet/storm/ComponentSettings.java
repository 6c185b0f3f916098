package com.yahoo.bullet.storm;

/**
 * The four settings that each component has: how many executors, and what the resource-aware scheduler reserves for
 * one.
 */
public enum ComponentSettings {
    /** The spout that reads through bullet-dsl. */
    DSL_SPOUT("dsl.spout"),
    /** The bolt that converts what it read. */
    DSL_BOLT("dsl.bolt"),
    /** The spout that emits records itself. */
    BULLET_SPOUT("bullet.spout"),
    /** The spout that reads queries. */
    QUERY_SPOUT("query.spout"),
    /** The spout that ticks. Its parallelism is always 1 and no setting: it is broadcast. */
    TICK_SPOUT("tick.spout"),
    /** The bolt that sees every record. */
    FILTER_BOLT("filter.bolt"),
    /** The bolt that combines a query's results. */
    JOIN_BOLT("join.bolt"),
    /** The bolt that publishes results. */
    RESULT_BOLT("result.bolt"),
    /** The bolt that publishes signals back. */
    LOOP_BOLT("loop.bolt"),
    /** The bolt that keeps queries for replay. */
    REPLAY_BOLT("replay.bolt");

    private final String prefix;

    ComponentSettings(String name) {
        prefix = "bullet.topology." + name;
    }

    /**
     * Whether the number of executors can be set.
     *
     * @return false for the tick spout.
     */
    public boolean hasParallelism() {
        return this != TICK_SPOUT;
    }

    /**
     * The setting with the number of executors.
     *
     * @return its name.
     */
    public String parallelism() {
        return prefix + ".parallelism";
    }

    /**
     * The setting with the CPU of one executor; 100 is a core.
     *
     * @return its name.
     */
    public String cpuLoad() {
        return prefix + ".cpu.load";
    }

    /**
     * The setting with the heap of one executor, MB.
     *
     * @return its name.
     */
    public String onHeapLoad() {
        return prefix + ".memory.on.heap.load";
    }

    /**
     * The setting with the memory of one executor outside of the heap, MB.
     *
     * @return its name.
     */
    public String offHeapLoad() {
        return prefix + ".memory.off.heap.load";
    }
}
