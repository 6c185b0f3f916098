/**
 * Measures latencies of records and queries inside a worker, as exponential histograms.
 *
 * <p>{@link io.github.bulletmetrics.storm.latency.LatencyHistogram} counts observations, {@link
 * io.github.bulletmetrics.storm.latency.QueryTimes} remembers when running queries arrived, and {@link
 * io.github.bulletmetrics.storm.latency.LatencyPack} is the format in which histograms travel to the metrics consumer.
 *
 * <p><b>Thread.</b> The executor thread of the measured task runs everything here, once for each tuple. Nothing is
 * synchronized.
 *
 * <p><b>Inside a worker</b> the path of a tuple must never allocate without need, lock, or do I/O, because it runs
 * inside the topology's own work. The number of queries and of buckets must stay bounded, whatever the topology does.
 *
 * <p>It knows neither Storm, which calls it through {@link io.github.bulletmetrics.storm.LatencyHook}, nor series.
 */
package io.github.bulletmetrics.storm.latency;
