package io.github.bulletmetrics.topology.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

class RouterTest {
    private static final int MANY = 20;

    private final ExecutorService server = Executors.newSingleThreadExecutor();
    private final ExecutorService clients = Executors.newSingleThreadExecutor();
    private final HttpClient http = HttpClient.newHttpClient();
    private final CountDownLatch gate = new CountDownLatch(1);
    private HttpServer listening;

    @AfterEach
    void stop() {
        gate.countDown();
        listening.stop(0);
        server.shutdownNow();
        clients.shutdownNow();
    }

    /** One thread for each kind: a poll would wait behind a single query that is not done. */
    @Test
    void clientsThatAskMuchDoNotHoldUpTheTopology() throws Exception {
        Router router = new Router(clients);
        CountDownLatch begun = new CountDownLatch(1);
        router.addForClients("POST", "/query", (exchange, reply) -> {
            begun.countDown();
            await(gate);
            reply.empty(Reply.OK);
        });
        router.add("GET", "/poll", (exchange, reply) -> reply.empty(Reply.NO_CONTENT));
        listening = JdkHttpServer.create(new InetSocketAddress("127.0.0.1", 0), MANY);
        listening.setExecutor(server);
        listening.createContext("/", router);
        listening.start();

        List<CompletableFuture<HttpResponse<String>>> queries = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            queries.add(send("POST", "/query"));
        }
        begun.await();

        assertThat(send("GET", "/poll").get().statusCode()).isEqualTo(Reply.NO_CONTENT);
        assertThat(queries).noneMatch(CompletableFuture::isDone);
        gate.countDown();
        for (CompletableFuture<HttpResponse<String>> query : queries) {
            assertThat(query.get().statusCode()).isEqualTo(Reply.OK);
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private CompletableFuture<HttpResponse<String>> send(String method, String path) {
        return http.sendAsync(HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + listening.getAddress().getPort() + path))
            .method(method, HttpRequest.BodyPublishers.noBody()).build(), HttpResponse.BodyHandlers.ofString());
    }
}
