/**
 * What a Kafka consumer knows beside its records: their timestamps, sizes and offsets, and how many are still to come.
 */
package io.github.bulletmetrics.topology.dsl.kafka;
