/**
 * Samples between Storm's thread and the sender's: what a series is, the bounded queue, and the count of what was lost.
 *
 * <p>Owns the memory budget. Knows nothing of Storm, of how a data point was flattened, or of how a batch travels.
 */
package io.github.bulletmetrics.storm.queue;
