package io.github.bulletmetrics.topology.gateway;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.ObjectInputFilter;
import java.io.ObjectInputStream;
import java.io.Serializable;
import java.util.Base64;

/**
 * The JSON of bullet-core's RESTPubSub, which carries a message's content as a serialized Java object. What comes from
 * outside may hold text and numbers only; no other class is ever instantiated.
 */
final class Messages {
    private static final ObjectInputFilter PLAIN_VALUES = ObjectInputFilter.Config.createFilter(
        "java.lang.String;java.lang.Number;java.lang.Long;java.lang.Integer;!*");

    private Messages() {
    }

    /** Writes a message with the URL to which its result is to be POSTed, as RESTQueryPublisher does. */
    static String encode(PubSubMessage message, String resultUrl) {
        JsonObject json = new JsonParser().parse(message.asJSON()).getAsJsonObject();
        JsonElement metadata = json.get("metadata");
        JsonObject withUrl = metadata != null && metadata.isJsonObject() ? metadata.getAsJsonObject()
                : new JsonObject();
        withUrl.addProperty("url", resultUrl);
        json.add("metadata", withUrl);
        return json.toString();
    }

    /**
     * Reads a result or a signal.
     *
     * @throws IllegalArgumentException when it is neither.
     */
    static PubSubMessage decode(String text) {
        try {
            JsonObject json = new JsonParser().parse(text).getAsJsonObject();
            return new PubSubMessage(json.get("id").getAsString(), content(json.get("content")),
                    metadata(json.get("metadata")));
        } catch (JsonParseException | IllegalStateException | UnsupportedOperationException | NullPointerException
                 | IOException | ClassNotFoundException e) {
            throw new IllegalArgumentException("Not a message of RESTPubSub with a text as its content: "
                    + e.getMessage(), e);
        }
    }

    private static Metadata metadata(JsonElement json) {
        if (json == null || json.isJsonNull()) {
            return new Metadata(null, null);
        }
        JsonElement signal = json.getAsJsonObject().get("signal");
        return new Metadata(signal == null || signal.isJsonNull() ? null
                : Metadata.Signal.valueOf(signal.getAsString()),
                            time(json.getAsJsonObject().get("content")));
    }

    /** The time that a replay request has; the text that other metadata may have is of no use here. */
    private static Long time(JsonElement content) {
        boolean number = content != null && content.isJsonPrimitive() && content.getAsJsonPrimitive().isNumber();
        return number ? content.getAsLong() : null;
    }

    private static Serializable content(JsonElement json) throws IOException, ClassNotFoundException {
        if (json == null || json.isJsonNull()) {
            return null;
        }
        byte[] bytes = Base64.getDecoder().decode(json.getAsString());
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
            in.setObjectInputFilter(PLAIN_VALUES);
            return (Serializable) in.readObject();
        }
    }
}
