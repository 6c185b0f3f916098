/**
 * Carries batches by gRPC. The only package that names {@code io.grpc}, beside the generated stub.
 *
 * <p>Knows nothing of samples, of when to send, or of what to do when a stream ends.
 */
package io.github.bulletmetrics.storm.grpc;
