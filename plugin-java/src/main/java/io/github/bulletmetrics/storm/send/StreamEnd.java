package io.github.bulletmetrics.storm.send;

/** How a stream ended, as far as it matters for the next step. Immutable. */
public final class StreamEnd {
    /** What to make of the end of a stream. */
    public enum Kind {
        /** No connection came about: nobody is there. */
        UNREACHABLE,
        /** There was somebody, who broke off or speaks something else: try the next address. */
        LOST,
        /** The collector takes no further stream for a while. */
        BUSY,
        /** The collector does not know or allow this sender: a person must act. */
        DENIED,
        /** The collector does not understand what was sent: sending the same again is useless. */
        NOT_UNDERSTOOD
    }

    /** Begins the message of a stream that did not begin, since a file of the settings cannot be read or used. */
    public static final String NOT_BEGUN = "cannot open a stream: ";

    private final Kind kind;
    private final String message;
    private final long retryAfterMs;

    /**
     * @param message what happened, for the log.
     * @param retryAfterMs how long the collector asks to wait, ms; 0 where it does not say.
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

    /** What to make of it. */
    public Kind kind() {
        return kind;
    }

    /** What happened, for the log. */
    public String message() {
        return message;
    }

    /** How long the collector asks to wait, ms; 0 where it does not say. */
    public long retryAfterMs() {
        return retryAfterMs;
    }
}
