package io.github.bulletmetrics.topology.gateway;

import java.util.concurrent.Executor;

/**
 * A client that waits for one answer. It is written by other threads, so that a slow client holds up no result but its
 * own.
 */
record OneAnswer(Reply reply, Executor writers) implements QueryClient {
    @Override
    public boolean window(String result) {
        return false;
    }

    @Override
    public void end(int status, String result) {
        writers.execute(() -> reply.json(status, result));
    }
}
