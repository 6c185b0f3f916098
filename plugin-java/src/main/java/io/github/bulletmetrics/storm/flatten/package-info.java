/**
 * Turns the data points of Storm into blocks of samples and puts them into the queue.
 *
 * <p>A data point is a number, a map of numbers, or a byte array that a sampler or a latency hook packed. {@link
 * io.github.bulletmetrics.storm.flatten.Flattener} is the entry point. {@link
 * io.github.bulletmetrics.storm.flatten.SeriesTable} remembers every series and {@link
 * io.github.bulletmetrics.storm.flatten.Layouts} the recent layouts, so that a report like the one before it needs no
 * new definitions.
 *
 * <p><b>Thread.</b> Only the thread on which Storm hands over data points runs this code, under the lock of the
 * pipeline.
 *
 * <p><b>Inside a worker</b> it must never throw because of the content of a data point, never wait, and never allocate
 * for each number of a known series. A value that cannot be used is counted as a loss and skipped.
 *
 * <p>It knows neither the meaning of a metric (the collector's catalog does), nor Storm's types, nor the network.
 */
package io.github.bulletmetrics.storm.flatten;
