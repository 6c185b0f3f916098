/**
 * A Kafka broker on this machine: one process in a directory of its own, started, asked and ended by one launcher.
 * Knows Kafka's client and the broker's settings; what records look like is the topology's affair.
 */
package io.github.bulletmetrics.topology.localkafka;
