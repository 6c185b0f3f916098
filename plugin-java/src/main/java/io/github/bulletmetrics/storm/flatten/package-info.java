/**
 * Turns data points into blocks of samples: maps into their numbers, a worker sampler's packs into theirs.
 *
 * <p>Owns the identity of series and layouts. Knows nothing of what a metric means (the collector's catalogue does), of
 * Storm's types, or of how samples travel. One thread at a time.
 */
package io.github.bulletmetrics.storm.flatten;
