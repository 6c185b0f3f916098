/**
 * Reads CPU time, heap and garbage collections of a worker's process once a second, and packs the samples for the
 * metrics consumer.
 *
 * <p>{@link io.github.bulletmetrics.storm.sampler.Sampler} owns the thread, {@link
 * io.github.bulletmetrics.storm.sampler.SampleBuffer} keeps samples until Storm asks, and {@link
 * io.github.bulletmetrics.storm.sampler.SamplePack} is the format in which they travel. Storm asks only once in its
 * reporting interval; sampling each second by itself gives every slice a sample close to its end.
 *
 * <p><b>Threads.</b> One daemon thread in each worker takes samples. The executor thread of Storm's SystemBolt takes
 * the pack.
 *
 * <p><b>Inside a worker</b> it must never throw into Storm, never keep the JVM alive, and never hold more than a fixed
 * number of samples. If Storm stops asking, the oldest samples are dropped and counted.
 *
 * <p>It knows neither Storm, which calls it through {@link io.github.bulletmetrics.storm.WorkerSampler}, nor series.
 */
package io.github.bulletmetrics.storm.sampler;
