/**
 * A Storm cluster of one machine: ZooKeeper, Nimbus, one Supervisor and its workers, each a JVM of its own, under one
 * directory.
 *
 * <p>Owns the life of those processes and the files they live on. Knows nothing of any topology, of Bullet or of
 * metrics. Everything here runs on the JDK and picocli alone; what speaks Storm's Thrift is in the package
 * {@code thrift} and is loaded with the class path of the distribution (see {@link NimbusConnector}).
 */
package io.github.bulletmetrics.topology.localstorm;
