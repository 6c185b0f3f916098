/**
 * Delivers queued samples to a collector, and makes sure that each batch counts once, even if streams break.
 *
 * <p>{@link io.github.bulletmetrics.storm.send.Sender} owns the thread. {@link
 * io.github.bulletmetrics.storm.send.Exporter} decides what to send, on which stream, and when. {@link
 * io.github.bulletmetrics.storm.send.Outbox} cuts batches and holds them until they are acknowledged. Start reading
 * with {@code Exporter.step()}.
 *
 * <p><b>Threads.</b> One daemon thread, {@code bullet-metrics-sender}, runs everything here. The exceptions are {@link
 * io.github.bulletmetrics.storm.send.Inbox}, which the transport's threads fill, and {@link
 * io.github.bulletmetrics.storm.send.Sender#wake} and {@link io.github.bulletmetrics.storm.send.Sender#close}, which
 * other threads call.
 *
 * <p><b>Inside a worker</b> it must never hold up an executor thread. Only closing waits, and only for a bounded time.
 * An unforeseen exception must not end the thread: the sender logs it, recovers and tries again. An outage is logged
 * when it begins and at long intervals, not for each attempt.
 *
 * <p>It knows neither Storm nor gRPC: {@link io.github.bulletmetrics.storm.send.Transport} hides how a batch is
 * carried. Time and randomness are passed in, so that tests decide both.
 */
package io.github.bulletmetrics.storm.send;
