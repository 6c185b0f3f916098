package io.github.bulletmetrics.storm.jar;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.storm.collector.Certificates;
import io.github.bulletmetrics.storm.collector.GrpcCollector;
import io.github.bulletmetrics.storm.collector.Ledger;
import io.grpc.InsecureServerCredentials;
import io.grpc.TlsServerCredentials;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The finished jar, in a JVM of its own as in a worker, sends to a real gRPC server. */
class ExportFromJarIT {
    @TempDir
    Path directory;

    @Test
    void exportsOverTlsWithItsOwnCertificateAndAToken() throws Exception {
        Certificates ofCollector = Certificates.make(directory, "collector");
        Certificates ofPlugin = Certificates.make(directory, "plugin");
        Path token = Files.writeString(directory.resolve("token"), "s3cret\n");
        try (GrpcCollector collector = new GrpcCollector(0,
                TlsServerCredentials.newBuilder().keyManager(ofCollector.certificate(), ofCollector.key())
                .trustManager(ofPlugin.certificate()).clientAuth(TlsServerCredentials.ClientAuth.REQUIRE).build())) {
            System.out.println(PluginJar.run(ExportMain.class, () -> isTaken(collector.ledger()), "address=localhost:"
                    + collector.port(), "tls.enabled=true",
                    "tls.ca.file=" + ofCollector.certificate(), "tls.cert.file=" + ofPlugin.certificate(),
                    "tls.key.file=" + ofPlugin.key(),
                    "token.file=" + token));
            assertThat(collector.authorizations()).containsOnly("Bearer s3cret");
            assertTaken(collector.ledger());
            assertThat(collector.ledger().blocks()).as("a report's numbers, a pack, its host")
                    .hasSize(Files.exists(Path.of("/proc/stat")) ? 3 : 2);
        }
    }

    @Test
    void exportsInPlainTextToACollectorThatTakesNoBlocks() throws Exception {
        try (GrpcCollector collector = new GrpcCollector(0, InsecureServerCredentials.create())) {
            collector.takesBlocks(false);
            System.out.println(PluginJar.run(ExportMain.class, () -> isTaken(collector.ledger()),
                    "address=" + collector.address()));
            assertTaken(collector.ledger());
            assertThat(collector.ledger().blocks()).isEmpty();
        }
    }

    private static boolean isTaken(Ledger ledger) {
        return ledger.samples().size() >= 2 + 7 && !ledger.workers().isEmpty() && !ledger.histograms().isEmpty();
    }

    private static void assertTaken(Ledger ledger) {
        assertThat(ledger.breaches()).isEmpty();
        assertThat(ledger.samples()).extracting(Ledger.Sample::name)
                .contains("bullet_filter_latency", "__ack-count", "cpu.user_ms", "heap.used_bytes", "gc.count");
        assertThat(ledger.histograms()).singleElement().satisfies(latencies -> {
            assertThat(latencies.getCount()).isEqualTo(1);
            assertThat(latencies.getSum()).isBetween(0.02, 60.0);
        });
        assertThat(ledger.workers()).containsOnlyKeys("worker-1:6700");
        assertThat(ledger.topologies()).isNotEmpty();
    }
}
