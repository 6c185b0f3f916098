/**
 * The processes of a server on this machine: how a launcher takes a directory, starts JVMs that carry its mark, watches
 * them, and ends them all, also those that an earlier launcher left.
 *
 * <p>Owns the lock, the mark and the life of processes. Knows neither Storm nor Kafka.
 */
package io.github.bulletmetrics.topology.localprocess;
