package io.github.bulletmetrics.storm.grpc;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.RetryInfo;
import io.github.bulletmetrics.storm.send.StreamEnd;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;

/** Converts a gRPC status to the information that the sender needs. The codes are those of service.proto. */
final class StatusReader {
    private static final int MAX_CAUSES = 3;

    private StatusReader() {
    }

    static StreamEnd read(Status status, Metadata trailers) {
        return new StreamEnd(kind(status), message(status), retryAfterMs(status, trailers));
    }

    private static StreamEnd.Kind kind(Status status) {
        switch (status.getCode()) {
            case INVALID_ARGUMENT:
            case UNIMPLEMENTED:
            case OUT_OF_RANGE:
                return StreamEnd.Kind.NOT_UNDERSTOOD;
            case UNAUTHENTICATED:
            case PERMISSION_DENIED:
                return StreamEnd.Kind.DENIED;
            case RESOURCE_EXHAUSTED:
                return StreamEnd.Kind.BUSY;
            default:
                return isUnreachable(status) ? StreamEnd.Kind.UNREACHABLE : StreamEnd.Kind.LOST;
        }
    }

    private static boolean isUnreachable(Status status) {
        Throwable cause = status.getCause();
        for (int depth = 0; cause != null && depth < MAX_CAUSES; depth++, cause = cause.getCause()) {
            if (cause instanceof ConnectException || cause instanceof NoRouteToHostException
                    || cause instanceof UnknownHostException) {
                return true;
            }
        }
        return false;
    }

    /** A connection's failure is in the cause: "UNAVAILABLE: io exception" alone explains little. */
    private static String message(Status status) {
        StringBuilder message = new StringBuilder(status.getCode().toString());
        if (status.getDescription() != null) {
            message.append(": ").append(status.getDescription());
        }
        Throwable cause = status.getCause();
        for (int depth = 0; cause != null && depth < MAX_CAUSES; depth++, cause = cause.getCause()) {
            message.append(" (").append(cause).append(')');
        }
        return message.toString();
    }

    private static long retryAfterMs(Status status, Metadata trailers) {
        com.google.rpc.Status details = StatusProto.fromStatusAndTrailers(status, trailers);
        for (Any detail : details.getDetailsList()) {
            if (detail.is(RetryInfo.class)) {
                try {
                    com.google.protobuf.Duration delay = detail.unpack(RetryInfo.class).getRetryDelay();
                    return delay.getSeconds() * 1_000 + delay.getNanos() / 1_000_000;
                } catch (InvalidProtocolBufferException unreadable) {
                    return 0;
                }
            }
        }
        return 0;
    }
}
