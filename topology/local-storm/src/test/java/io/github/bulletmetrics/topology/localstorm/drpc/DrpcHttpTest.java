package io.github.bulletmetrics.topology.localstorm.drpc;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.storm.DaemonConfig;
import org.apache.storm.daemon.drpc.DRPC;
import org.apache.storm.generated.DRPCRequest;
import org.apache.storm.metric.StormMetricsRegistry;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Storm's own DRPC behind the HTTP port; the test is the topology that fetches calls and answers them. */
class DrpcHttpTest {
    private static final String FUNCTION = "bullet-query";
    private static final int THREADS = 8;

    private final HttpClient http = HttpClient.newHttpClient();
    private final QueuedThreadPool pool = new QueuedThreadPool(THREADS);
    private DRPC drpc;
    private DrpcHttp server;

    @BeforeEach
    void start() throws Exception {
        Map<String, Object> storm = new HashMap<>(Map.of(DaemonConfig.DRPC_REQUEST_TIMEOUT_SECS, 600));
        drpc = new DRPC(new StormMetricsRegistry(), storm);
        server = new DrpcHttp(drpc, 0, pool);
        server.start();
    }

    @AfterEach
    void stop() throws Exception {
        drpc.close();
        server.close();
    }

    @Test
    void aCallGetsItsResult() throws Exception {
        CompletableFuture<HttpResponse<String>> call = call("SELECT * FROM STREAM(1, TIME)");
        DRPCRequest fetched = fetch();
        assertThat(fetched.get_func_args()).isEqualTo("SELECT * FROM STREAM(1, TIME)");
        drpc.returnResult(fetched.get_request_id(), "{}");
        assertThat(call.get().statusCode()).isEqualTo(200);
        assertThat(call.get().body()).isEqualTo("{}");
    }

    @Test
    void aCallThatTheTopologyFailsAndAnUnknownPathAreSaid() throws Exception {
        CompletableFuture<HttpResponse<String>> call = call("no query");
        drpc.failRequest(fetch().get_request_id(), null);
        assertThat(call.get().statusCode()).isEqualTo(400);
        assertThat(http.send(HttpRequest.newBuilder(url("/elsewhere")).build(),
                HttpResponse.BodyHandlers.ofString()).statusCode()).isEqualTo(404);
    }

    /** As many as there are threads for are in the topology's sight; the others wait behind them, and none fails. */
    @Test
    @Timeout(120)
    void threadsBoundTheCallsThatAreActive() throws Exception {
        int calls = 2 * THREADS;
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            answers.add(call("query " + i));
        }
        Deque<DRPCRequest> active = new ArrayDeque<>();
        while (!pool.isLowOnThreads()) {
            takeAll(active);
            Thread.onSpinWait();
        }
        for (int answered = 0; answered < calls;) {
            takeAll(active);
            assertThat(active).hasSizeLessThan(THREADS);
            if (active.isEmpty()) {
                Thread.onSpinWait();
            } else {
                drpc.returnResult(active.remove().get_request_id(), "done");
                answered++;
            }
        }
        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            assertThat(answer.get().statusCode()).isEqualTo(200);
        }
    }

    private void takeAll(Deque<DRPCRequest> into) throws Exception {
        for (DRPCRequest next = drpc.fetchRequest(FUNCTION); !next.get_request_id().isEmpty(); next = drpc.fetchRequest(
                FUNCTION)) {
            into.add(next);
        }
    }

    private DRPCRequest fetch() throws Exception {
        DRPCRequest next = drpc.fetchRequest(FUNCTION);
        while (next.get_request_id().isEmpty()) {
            Thread.onSpinWait();
            next = drpc.fetchRequest(FUNCTION);
        }
        return next;
    }

    private CompletableFuture<HttpResponse<String>> call(String argument) {
        return http.sendAsync(HttpRequest.newBuilder(url("/drpc/" + FUNCTION)).POST(
                HttpRequest.BodyPublishers.ofString(argument)).build(),
            HttpResponse.BodyHandlers.ofString());
    }

    private URI url(String path) {
        return URI.create("http://127.0.0.1:" + server.port() + path);
    }
}
