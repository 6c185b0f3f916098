/**
 * Records through bullet-dsl: the spout that reads messages with a connector, the bolt that makes records of them, and
 * what is counted on the way. Knows nothing of queries; what is particular to Kafka is in {@code kafka}.
 */
package io.github.bulletmetrics.topology.dsl;
