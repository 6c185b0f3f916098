/**
 * Carries streams of batches to a collector over gRPC, with TLS and a token where the settings ask for them.
 *
 * <p>{@link io.github.bulletmetrics.storm.grpc.GrpcTransport} opens streams, each on its own connection. {@link
 * io.github.bulletmetrics.storm.grpc.ReadAllowance} limits how much a collector may send. This is the only package that
 * may use {@code io.grpc}, apart from the generated stub, so that the transport can be exchanged without touching the
 * rest (decision 2 in docs/decisions).
 *
 * <p><b>Threads.</b> The sender's thread opens streams and sends on them. gRPC's own threads deliver answers to the
 * listener, which only stores them.
 *
 * <p><b>Inside a worker</b> it must never read without a limit, since a faulty or hostile collector would otherwise use
 * the CPU and the memory of the worker. It must never retry by itself: only the sender decides when to try again.
 *
 * <p>It knows neither samples, nor when to send, nor what to do when a stream ends.
 */
package io.github.bulletmetrics.storm.grpc;
