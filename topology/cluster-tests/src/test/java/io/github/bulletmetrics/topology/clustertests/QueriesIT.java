package io.github.bulletmetrics.topology.clustertests;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.http.HttpResponse;
import java.util.Map;

@ExtendWith(ClusterExtension.class)
class QueriesIT {
    private static Bullet bullet;

    @BeforeAll
    static void start(StormCluster cluster) throws Exception {
        bullet = Bullet.start(cluster, "queries", Map.of());
    }

    @AfterAll
    static void stop() throws Exception {
        if (bullet != null) {
            bullet.close();
        }
    }

    @Test
    void aRawQueryGetsItsTenRecords() throws Exception {
        HttpResponse<String> answer = bullet.query("SELECT record_id FROM STREAM(30000, TIME) LIMIT 10").get();
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        assertThat(Bullet.json(answer).getAsJsonArray("records")).hasSize(10);
        assertThat(bullet.workers()).hasSize(2);
    }
}
