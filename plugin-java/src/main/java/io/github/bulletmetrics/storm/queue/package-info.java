/**
 * The bounded queue between the thread that Storm calls and the thread that sends.
 *
 * <p>{@link io.github.bulletmetrics.storm.queue.SampleQueue} holds the samples, {@link
 * io.github.bulletmetrics.storm.queue.Losses} counts what was dropped, and {@link
 * io.github.bulletmetrics.storm.queue.Workers} knows the workers whose samples came by. {@link
 * io.github.bulletmetrics.storm.queue.Series} and {@link io.github.bulletmetrics.storm.queue.Layout} are the vocabulary
 * that the flattener and the sender share.
 *
 * <p><b>Threads.</b> Exactly one thread offers samples (the one on which Storm hands over data points) and exactly one
 * takes them (the sender). The queue needs no lock for that. Losses and workers may be used by any thread.
 *
 * <p><b>Inside a worker</b> offering must never wait: when the queue is full, new samples are dropped and counted.
 * Memory must never grow beyond what the capacity implies, however long the collector is unreachable.
 *
 * <p>It knows neither Storm, nor how a data point was flattened, nor how a batch travels.
 */
package io.github.bulletmetrics.storm.queue;
