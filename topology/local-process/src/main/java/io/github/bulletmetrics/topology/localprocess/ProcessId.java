package io.github.bulletmetrics.topology.localprocess;

/** A process by its id and its start, in clock ticks since boot: together they are never given out twice. */
public record ProcessId(long pid, long startTicks) {
}
