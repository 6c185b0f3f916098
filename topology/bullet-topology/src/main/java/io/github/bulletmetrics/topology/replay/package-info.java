/**
 * Replay of queries, apart from Storm: what the replay bolt keeps and how far each replay is, what the query spout
 * knows of them, and what a filter or join task still waits for. Nothing here reads a clock, and all of it is used on
 * one thread.
 *
 * <pre>
 * filter or join task  asks for its queries: REPLAY, "FilterBolt-5", since when (ms)     loop bolt, PubSub, query spout
 * query spout          (id, since, false)                                                to one replay bolt task, by id
 * replay bolt          (id, since, index, batch), and acks; the spout's ack comes when the task has taken the batch
 * query spout (id, since, true) and so on; the last batch is null replay bolt fails (id, since, true) after the last,
 * which ends the spout's part
 * </pre>
 */
package io.github.bulletmetrics.topology.replay;
