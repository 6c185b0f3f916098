package io.github.bulletmetrics.topology.localprocess;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.List;
import org.junit.jupiter.api.Test;

class FreePortsTest {
    @Test
    void choosesDistinctPortsThatCanBeBound() throws IOException {
        List<Integer> ports = FreePorts.choose(20);
        assertThat(ports).hasSize(20).doesNotHaveDuplicates().allMatch(port -> port >= 10_000);
        for (int port : ports) {
            try (ServerSocket socket = new ServerSocket(port)) {
                assertThat(socket.isBound()).isTrue();
            }
        }
    }
}
