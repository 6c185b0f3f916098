package io.github.bulletmetrics.storm.send;

/** How a stream ended, as far as it matters for the next step. Immutable. */
public final class StreamEnd {
    /** The kind of an end, which determines the next step. */
    public enum Kind {
        /** There is no server at the address. */
        UNREACHABLE,
        /** The server broke the connection or speaks another protocol: try the next address. */
        LOST,
        /** The collector accepts no more streams at the moment. */
        BUSY,
        /** The collector does not know or allow this sender: a person must act. */
        DENIED,
        /** The collector does not understand a message: sending it again is useless. */
        NOT_UNDERSTOOD
    }

    /** The prefix of messages about streams that could not be opened, because a file in the settings is unusable. */
    public static final String NOT_OPENED = "cannot open a stream: ";

    private final Kind kind;
    private final String message;
    private final long retryAfterMs;

    /**
     * @param message what happened, for the log.
     * @param retryAfterMs how long the collector asks to wait, ms; 0 if unknown.
     */
    public StreamEnd(Kind kind, String message, long retryAfterMs) {
        this.kind = kind;
        this.message = message;
        this.retryAfterMs = retryAfterMs;
    }

    /** A stream that broke. */
    public static StreamEnd lost(String message) {
        return new StreamEnd(Kind.LOST, message, 0);
    }

    /** The kind, which determines the next step. */
    public Kind kind() {
        return kind;
    }

    /** What happened, for the log. */
    public String message() {
        return message;
    }

    /** How long the collector asks to wait, ms; 0 if unknown. */
    public long retryAfterMs() {
        return retryAfterMs;
    }
}
