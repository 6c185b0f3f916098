/**
 * The classes that Storm and Bullet load by name, and the code that joins the parts of the plugin.
 *
 * <p>Storm creates three of them: {@link io.github.bulletmetrics.storm.StormMetricsConsumer} once for each task of the
 * metrics consumer, {@link io.github.bulletmetrics.storm.WorkerSampler} once in each worker, and {@link
 * io.github.bulletmetrics.storm.LatencyHook} once for each task. {@link
 * io.github.bulletmetrics.storm.BulletMetricsConsumer} is the entry point of Bullet, which calls its {@code register()}
 * when a topology is submitted. A data point passes through {@code flatten} into {@code queue}; {@code send} takes it
 * from there and hands it to {@code grpc}. {@code sampler} and {@code latency} measure inside the workers.
 *
 * <p><b>Threads.</b> {@code register()} runs in the process that submits the topology. The consumer is prepared and
 * closed on the executor thread of its task, and gets data points on the one thread that Storm's MetricsConsumerBolt
 * uses for that. The hook runs on the executor thread of the task that it measures, once for each tuple. The sampler is
 * read on the executor thread of Storm's SystemBolt.
 *
 * <p><b>Inside a worker</b> this code must never throw, wait for the network, or allocate without a bound. An exception
 * on an executor thread ends the whole worker. Each entry point therefore catches every {@code Throwable}, logs it
 * once, and stops measuring while the topology runs on.
 *
 * <p>This is the only package that may use {@code org.apache.storm}. The others can therefore be tested without Storm,
 * and a change in Storm's API affects only this package.
 */
package io.github.bulletmetrics.storm;
