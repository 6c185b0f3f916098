/**
 * Reads a worker's process once a second and packs what it read for the metrics consumer.
 *
 * <p>Owns the format of a pack ({@link io.github.bulletmetrics.storm.sampler.SamplePack}). Knows nothing of Storm,
 * which calls it through {@link io.github.bulletmetrics.storm.WorkerSampler}, nor of series.
 */
package io.github.bulletmetrics.storm.sampler;
