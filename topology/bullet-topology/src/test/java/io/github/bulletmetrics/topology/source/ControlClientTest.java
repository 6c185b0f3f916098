package io.github.bulletmetrics.topology.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.yahoo.bullet.common.BulletConfig;
import io.github.bulletmetrics.topology.gateway.GatewayOptions;
import io.github.bulletmetrics.topology.gateway.GatewayServer;

import org.junit.jupiter.api.Test;

import java.net.InetSocketAddress;
import java.net.URI;

class ControlClientTest {
    @Test
    void keepsTheLastControlWhileTheGatewayIsAway() throws Exception {
        BulletConfig config = new BulletConfig();
        config.set(GeneratorSettings.RECORDS_PER_SECOND, 77);
        GatewayServer gateway =
            new GatewayServer(config, GatewayOptions.defaults(), new InetSocketAddress("127.0.0.1", 0), null);
        gateway.start();
        URI url = URI.create("http://" + gateway.address() + GatewayServer.SOURCE_CONTROL);
        SourceReport report = new SourceReport("t", 1, 1, 0, 0, 0, 0, 0, 0);

        try (ControlClient client = new ControlClient(url, 10, () -> report)) {
            assertThat(client.latest()).isNull();
            client.start();
            await("the first answer").until(() -> client.latest() != null);
            SourceControl first = client.latest();
            assertThat(first.recordsPerSecond()).isEqualTo(77);

            gateway.close();

            await("failures").until(() -> client.failures() >= 3);
            assertThat(client.latest()).as("the same object").isSameAs(first);
        } finally {
            gateway.close();
        }
    }
}
