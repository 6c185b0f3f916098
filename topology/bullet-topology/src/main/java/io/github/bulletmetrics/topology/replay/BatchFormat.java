package io.github.bulletmetrics.topology.replay;

import com.yahoo.bullet.pubsub.PubSubMessage;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** How a batch of queries travels in a tuple. Null stands for the end of a replay in either. */
public enum BatchFormat {
    /** As a map from the id to the query's message. */
    PLAIN {
        @Override
        Object write(HashMap<String, PubSubMessage> queries) {
            return queries;
        }

        @Override
        @SuppressWarnings("unchecked") // It is what write() made.
        Map<String, PubSubMessage> parse(Object batch) {
            return (Map<String, PubSubMessage>) batch;
        }
    },

    /** As that map, serialized by Java and compressed by gzip. */
    COMPRESSED {
        @Override
        Object write(HashMap<String, PubSubMessage> queries) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(new GZIPOutputStream(bytes))) {
                out.writeObject(queries);
            } catch (IOException e) {
                throw new UncheckedIOException("Cannot compress a batch of queries", e);
            }
            return bytes.toByteArray();
        }

        @Override
        @SuppressWarnings("unchecked") // It is what write() made.
        Map<String, PubSubMessage> parse(Object batch) {
            try (ObjectInputStream in = new ObjectInputStream(
                    new GZIPInputStream(new ByteArrayInputStream((byte[]) batch)))) {
                return (Map<String, PubSubMessage>) in.readObject();
            } catch (IOException | ClassNotFoundException e) {
                throw new IllegalStateException("Cannot read a batch of the replay bolt: use the same version of this jar "
                    + "on all workers", e);
            }
        }
    };

    /**
     * The format that the settings ask for.
     *
     * @param compressed whether batches are to be compressed.
     * @return the format.
     */
    public static BatchFormat of(boolean compressed) {
        return compressed ? COMPRESSED : PLAIN;
    }

    abstract Object write(HashMap<String, PubSubMessage> queries);

    abstract Map<String, PubSubMessage> parse(Object batch);

    /**
     * Reads what a batch tuple holds.
     *
     * @param batch the tuple's value, not to be changed: other tasks of this process may have the same.
     * @return the queries by id, or null for the end of the replay.
     */
    public Map<String, PubSubMessage> read(Object batch) {
        return batch == null ? null : parse(batch);
    }
}
