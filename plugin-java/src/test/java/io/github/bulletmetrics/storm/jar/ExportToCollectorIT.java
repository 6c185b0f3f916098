package io.github.bulletmetrics.storm.jar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.bulletmetrics.storm.collector.Certificates;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The finished jar sends to the real collector. Skipped where build/bullet-metrics has not been built. */
class ExportToCollectorIT {
    private static final String RECEIVED = "bullet_metrics_ingest_received_samples_total";
    private static final String JOURNALED = "bullet_metrics_ingest_journaled_samples_total";
    /**
     * Two numbers that Storm reports, a distribution, and a sampler's CPU (2), heap (3) and start (1); its collectors'
     * come on top.
     */
    private static final int SAMPLES = 2 + 1 + 6;

    @TempDir
    Path directory;

    @BeforeEach
    void needsTheCollector() {
        assumeTrue(RealCollector.binary() != null, "no collector at " + System.getProperty("bullet.metrics.binary")
                + ": run make build");
    }

    @Test
    void everySampleIsJournaledOverTlsWithACertificateAndAToken() throws Exception {
        Certificates ofCollector = Certificates.make(directory, "collector");
        Certificates ofPlugin = Certificates.make(directory, "plugin");
        Path token = Files.writeString(directory.resolve("token"), "s3cret\n");
        String hash = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest("s3cret".getBytes()));
        Path tokens = Files.writeString(directory.resolve("tokens"), hash + " write bullet\n");
        try (RealCollector collector = new RealCollector(directory, "--grpc-tls-cert-file",
                ofCollector.certificate().toString(),
                "--grpc-tls-key-file", ofCollector.key().toString(), "--grpc-tls-client-ca-file", ofPlugin.certificate()
                .toString(),
                "--grpc-token-file", tokens.toString())) {
            export(collector, "address=localhost:" + collector.port(), "tls.enabled=true", "tls.ca.file="
                    + ofCollector.certificate(),
                    "tls.cert.file=" + ofPlugin.certificate(), "tls.key.file=" + ofPlugin.key(), "token.file=" + token);
        }
    }

    /** The certificate's own line in the collector's file is enough: no token goes over the wire. */
    @Test
    void everySampleIsJournaledOverTlsWithACertificateAlone() throws Exception {
        Certificates ofCollector = Certificates.make(directory, "collector");
        Certificates ofPlugin = Certificates.make(directory, "plugin");
        Path tokens = Files.writeString(directory.resolve("tokens"), "cert:plugin write bullet\n");
        try (RealCollector collector = new RealCollector(directory, "--grpc-tls-cert-file",
                ofCollector.certificate().toString(),
                "--grpc-tls-key-file", ofCollector.key().toString(), "--grpc-tls-client-ca-file", ofPlugin.certificate()
                .toString(),
                "--grpc-token-file", tokens.toString())) {
            export(collector, "address=localhost:" + collector.port(), "tls.enabled=true", "tls.ca.file="
                    + ofCollector.certificate(),
                    "tls.cert.file=" + ofPlugin.certificate(), "tls.key.file=" + ofPlugin.key());
        }
    }

    @Test
    void everySampleIsJournaledInPlainText() throws Exception {
        try (RealCollector collector = new RealCollector(directory)) {
            export(collector, "address=127.0.0.1:" + collector.port());
        }
    }

    private static void export(RealCollector collector, String... settings) throws Exception {
        PluginJar.run(ExportMain.class, () -> {
            try {
                return collector.figure(JOURNALED) >= SAMPLES;
            } catch (java.io.IOException | InterruptedException unread) {
                throw new IllegalStateException(unread);
            }
        }, settings);
        assertThat(collector.figure(RECEIVED)).as(collector.log()).isGreaterThanOrEqualTo(SAMPLES);
        assertThat(collector.figure(JOURNALED)).as(collector.log()).isEqualTo(collector.figure(RECEIVED));
    }
}
