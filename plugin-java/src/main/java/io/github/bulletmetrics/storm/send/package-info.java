/**
 * Brings queued samples to a collector, each batch once, whatever happens to streams.
 *
 * <p>{@link io.github.bulletmetrics.storm.send.Outbox} cuts batches and holds them until they are acknowledged;
 * {@link io.github.bulletmetrics.storm.send.Exporter} decides what happens on which stream and when;
 * {@link io.github.bulletmetrics.storm.send.Sender} is the one thread that runs it. Knows nothing of Storm or gRPC:
 * what carries a batch is behind {@link io.github.bulletmetrics.storm.send.Transport}.
 */
package io.github.bulletmetrics.storm.send;
