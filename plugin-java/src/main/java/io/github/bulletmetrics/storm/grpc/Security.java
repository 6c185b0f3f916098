package io.github.bulletmetrics.storm.grpc;

import java.io.File;

/**
 * The files with which collector and sender authenticate each other. They are read again for each stream, so that they
 * can be replaced. Immutable.
 */
public final class Security {
    private final boolean tls;
    private final File authorities;
    private final File certificate;
    private final File key;
    private final File token;

    /**
     * @param tls whether to speak TLS.
     * @param authorities PEM certificates that the collector's must lead to; null for those that Java trusts.
     * @param certificate PEM certificate chain of this sender, for mutual TLS; null for none.
     * @param key PEM private key (PKCS#8) of that certificate; null for none.
     * @param token file with a bearer token; null for none.
     * @throws IllegalArgumentException when these do not go together; the message states why.
     */
    public Security(boolean tls, File authorities, File certificate, File key, File token) {
        if ((certificate == null) != (key == null)) {
            throw new IllegalArgumentException("only one of tls.cert.file and tls.key.file is set; set both or neither");
        }
        if (!tls && (authorities != null || certificate != null)) {
            throw new IllegalArgumentException(
                    "tls.ca.file or tls.cert.file is set without TLS; set tls.enabled to true");
        }
        this.tls = tls;
        this.authorities = authorities;
        this.certificate = certificate;
        this.key = key;
        this.token = token;
    }

    /** Plain text, without a token. */
    public static Security none() {
        return new Security(false, null, null, null, null);
    }

    /** Whether to speak TLS. */
    public boolean tls() {
        return tls;
    }

    /** Certificates to trust; null for Java's. */
    File authorities() {
        return authorities;
    }

    /** This sender's certificate; null for none. */
    File certificate() {
        return certificate;
    }

    /** This sender's private key; null for none. */
    File key() {
        return key;
    }

    /** The bearer token's file; null for none. */
    public File token() {
        return token;
    }
}
