package io.github.bulletmetrics.storm.grpc;

import io.grpc.CallCredentials;
import io.grpc.Metadata;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.concurrent.Executor;

/** Sends {@code authorization: Bearer ...} at the start of a stream (RFC 6750). */
final class BearerToken extends CallCredentials {
    private static final Metadata.Key<String> AUTHORIZATION = Metadata.Key.of("authorization",
            Metadata.ASCII_STRING_MARSHALLER);
    private static final long MAX_BYTES = 16_384;

    private final String token;

    private BearerToken(String token) {
        this.token = token;
    }

    /**
     * Reads a token, without the white space around it.
     *
     * @throws IOException when the file cannot be read, or holds no token.
     */
    static BearerToken read(File file) throws IOException {
        if (file.length() > MAX_BYTES) {
            throw new IOException("the token file " + file + " has more than " + MAX_BYTES + " bytes");
        }
        String token = new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8).trim();
        if (!token.matches("[\\x21-\\x7e]+")) {
            throw new IOException("the token file " + file + " must hold one line of ASCII without spaces");
        }
        return new BearerToken(token);
    }

    @Override
    public void applyRequestMetadata(RequestInfo request, Executor executor, MetadataApplier applier) {
        Metadata headers = new Metadata();
        headers.put(AUTHORIZATION, "Bearer " + token);
        applier.apply(headers);
    }
}
