/**
 * Measures latencies inside a worker: exponential histograms, the times of running queries, and the pack in which they
 * travel to the metrics consumer.
 *
 * <p>Owns the format of a pack ({@link io.github.bulletmetrics.storm.latency.LatencyPack}). Knows nothing of Storm,
 * which calls it through {@link io.github.bulletmetrics.storm.LatencyHook}, nor of series. One thread at a time.
 */
package io.github.bulletmetrics.storm.latency;
