package io.github.bulletmetrics.topology;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.PubSub;
import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.Publisher;
import com.yahoo.bullet.pubsub.Subscriber;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A PubSub within this process; those with the same value of {@value #NAME} are one. Keeps what was committed and
 * failed.
 */
public final class MemoryPubSub extends PubSub {
    static final String NAME = "test.pubsub.name";
    private static final Map<String, Board> BOARDS = new ConcurrentHashMap<>();

    /** What all of one name share. */
    static final class Board {
        final Queue<PubSubMessage> queries = new ConcurrentLinkedQueue<>();
        final List<PubSubMessage> results = new CopyOnWriteArrayList<>();
        final List<String> committed = new CopyOnWriteArrayList<>();
        final List<String> failed = new CopyOnWriteArrayList<>();
    }

    public MemoryPubSub(BulletConfig config) throws PubSubException {
        super(config);
    }

    static Board board(String name) {
        return BOARDS.computeIfAbsent(name, key -> new Board());
    }

    private Board board() {
        return board(config.getAs(NAME, String.class));
    }

    @Override
    public Subscriber getSubscriber() {
        Board board = board();
        return new Subscriber() {
            @Override
            public PubSubMessage receive() {
                return board.queries.poll();
            }

            @Override
            public void commit(String id) {
                board.committed.add(id);
            }

            @Override
            public void fail(String id) {
                board.failed.add(id);
            }

            @Override
            public void close() {
                // Nothing is open.
            }
        };
    }

    @Override
    public List<Subscriber> getSubscribers(int count) {
        return Collections.nCopies(count, getSubscriber());
    }

    @Override
    public Publisher getPublisher() {
        Board board = board();
        boolean submits = context == Context.QUERY_SUBMISSION;
        return new Publisher() {
            @Override
            public PubSubMessage send(PubSubMessage message) {
                (submits ? board.queries : board.results).add(message);
                return message;
            }

            @Override
            public void close() {
                // Nothing is open.
            }
        };
    }

    @Override
    public List<Publisher> getPublishers(int count) {
        return Collections.nCopies(count, getPublisher());
    }
}
