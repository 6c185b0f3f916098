package com.yahoo.bullet.storm.drpc;

import com.yahoo.bullet.common.BulletError;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.Publisher;
import com.yahoo.bullet.pubsub.Subscriber;
import com.yahoo.bullet.result.Clip;
import com.yahoo.bullet.result.Meta;

import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The submitter's end: POSTs each query to one of the DRPC servers and hands out what comes back. One object is both
 * publisher and subscriber, since a call returns where it was made. No more results wait than queries were sent.
 * Thread-safe.
 */
final class DRPCSubmitter implements Publisher, Subscriber {
    private static final int OK = 200;

    private final DRPCSettings settings;
    private final HttpClient http;
    private final Queue<PubSubMessage> results = new ConcurrentLinkedQueue<>();

    DRPCSubmitter(DRPCSettings settings) {
        this.settings = settings;
        http = HttpClient.newBuilder().connectTimeout(Duration.ofMillis(settings.connectTimeoutMs())).build();
    }

    @Override
    public PubSubMessage send(PubSubMessage message) {
        post(message, settings.retries());
        return message;
    }

    /** A server that cannot be reached is no end: another try may find another one. */
    private void post(PubSubMessage message, int triesLeft) {
        call(message).whenComplete((answer, failure) -> {
            if (failure == null && answer.statusCode() == OK) {
                results.add(PubSubMessage.fromJSON(answer.body()));
            } else if (failure != null && triesLeft > 0 && isUnreachable(failure)) {
                post(message, triesLeft - 1);
            } else {
                results.add(failed(message.getId(), failure == null ? "status " + answer.statusCode()
                        : failure.toString()));
            }
        });
    }

    private CompletableFuture<HttpResponse<String>> call(PubSubMessage message) {
        String host = settings.servers().get(ThreadLocalRandom.current().nextInt(settings.servers().size()));
        URI url = URI.create(settings.protocol() + "://" + host + ":" + settings.port() + "/" + settings.path() + "/"
                + settings.function());
        return http.sendAsync(HttpRequest.newBuilder(url).POST(
                HttpRequest.BodyPublishers.ofString(message.asJSON())).build(),
                              HttpResponse.BodyHandlers.ofString());
    }

    private static boolean isUnreachable(Throwable failure) {
        Throwable cause = failure.getCause() == null ? failure : failure.getCause();
        return cause instanceof ConnectException || cause instanceof HttpConnectTimeoutException;
    }

    private static PubSubMessage failed(String id, String why) {
        BulletError error = BulletError.makeError("The DRPC servers gave no result: " + why,
                                                  "See that they and the topology run, then try again");
        return new PubSubMessage(id, Clip.of(Meta.of(List.of(error))).asJSON(), Metadata.Signal.FAIL);
    }

    @Override
    public PubSubMessage receive() {
        return results.poll();
    }

    @Override
    public void commit(String id) {
        // A result is handed out once.
    }

    @Override
    public void fail(String id) {
        // A result is handed out once.
    }

    @Override
    public void close() {
        // The client's threads end with its last call.
    }
}
