/**
 * The Storm plugin: the metrics consumer, the worker's metric, and what registers them. The only package that names
 * {@code org.apache.storm}.
 *
 * <p>It joins the parts: {@code flatten} makes samples of data points and queues them, {@code send} brings them to a
 * collector over {@code grpc}, {@code sampler} reads the worker's process.
 */
package io.github.bulletmetrics.storm;
