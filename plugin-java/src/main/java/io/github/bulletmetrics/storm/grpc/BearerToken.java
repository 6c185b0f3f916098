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
    private static final String BYTE_ORDER_MARK = "\ufeff";

    private final String token;

    private BearerToken(String token) {
        this.token = token;
    }

    /**
     * Reads the only line of a token file. A byte order mark, white space around the token and empty lines are
     * ignored.
     *
     * @throws IOException when the file cannot be read, or holds no token; the message does not repeat what it holds.
     */
    static BearerToken read(File file) throws IOException {
        if (file.isDirectory()) {
            throw new IOException("the token file " + file + " is a directory; use the path of a file");
        }
        if (file.length() > MAX_BYTES) {
            throw new IOException("the token file " + file + " has more than " + MAX_BYTES + " bytes");
        }
        String text = new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
        String[] lines = (text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text).split("\\r\\n|\\r|\\n");
        String token = "";
        for (int i = 0; i < lines.length; i++) {
            String line = lines[i].trim();
            if (line.isEmpty()) {
                continue;
            }
            if (!token.isEmpty()) {
                throw new IOException("the token file " + file + ":" + (i + 1)
                        + ": unexpected second line; the file must contain only the token");
            }
            token = line;
        }
        if (token.isEmpty()) {
            throw new IOException("the token file " + file + " is empty; write the token into it");
        }
        if (!token.matches("[\\x21-\\x7e]+")) {
            throw new IOException("the token file " + file
                    + ": the token contains a space or a character that is not printable ASCII");
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
