package io.github.bulletmetrics.topology.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.yahoo.bullet.pubsub.Metadata.Signal;
import com.yahoo.bullet.pubsub.PubSubMessage;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Server-sent events over real HTTP, with bullet-core's own RESTPubSub in the topology's place. */
class EventStreamTest {
    private static final String WINDOWED = "SELECT * FROM STREAM(60000, TIME) WINDOWING TUMBLING(1000, TIME)";
    private static final StreamOptions QUICK = new StreamOptions(1 << 20, 50, 10_000);

    private final HttpClient http = HttpClient.newHttpClient();
    private GatewayServer gateway;
    private BulletSide bullet;

    private void start(GatewayOptions options) throws Exception {
        gateway = new GatewayServer(BulletSide.config(), options, new InetSocketAddress("127.0.0.1", 0), null);
        gateway.start();
        bullet = new BulletSide(gateway.address());
    }

    @AfterEach
    void stop() throws Exception {
        bullet.stop();
        gateway.close();
    }

    @Test
    void windowsComeOneByOneAndTheStreamEndsWithTheQuery() throws Exception {
        start(GatewayOptions.defaults());
        HttpResponse<InputStream> answer = stream(WINDOWED);
        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.headers().firstValue("content-type")).contains("text/event-stream");
        BufferedReader lines = reader(answer.body());
        PubSubMessage query = bullet.receive();

        bullet.answer(query, "{\"window\":1}", null);
        assertThat(lines.readLine()).isEqualTo("data:{\"window\":1}");
        assertThat(lines.readLine()).isEmpty();
        bullet.answer(query, "{\"window\":2}", null);
        assertThat(lines.readLine()).isEqualTo("data:{\"window\":2}");
        assertThat(lines.readLine()).isEmpty();
        bullet.answer(query, "{\"window\":3}", Signal.COMPLETE);

        assertThat(lines.lines().toList()).containsExactly("data:{\"window\":3}", "");
        assertBalance("returned", 1);
        assertWindows(2, 2, 0);
        assertThat(stats().get("streams").getAsInt()).isZero();
    }

    @Test
    void aFailedQueryEndsItsStreamWithTheError() throws Exception {
        start(GatewayOptions.defaults());
        HttpResponse<InputStream> answer = stream(WINDOWED);
        bullet.answer(bullet.receive(), "{\"records\":[],\"meta\":{\"errors\":[]}}", Signal.FAIL);

        assertThat(reader(answer.body()).lines()).containsExactly("data:{\"records\":[],\"meta\":{\"errors\":[]}}", "");
        assertBalance("failed", 1);
    }

    @Test
    void aQueryThatCannotBeTakenGetsAStatusAndBulletsError() throws Exception {
        start(new GatewayOptions(1, 10, 60_000, 1_000));
        assertThat(refused("SELECT * FROM STREAM(1000, TIME) WHERE", 400)).isNotEmpty();
        HttpResponse<InputStream> held = stream(WINDOWED);
        assertThat(refused(WINDOWED, 429)).contains("the limit is 1");
        bullet.answer(bullet.receive(), "{}", Signal.COMPLETE);
        assertThat(reader(held.body()).lines()).containsExactly("data:{}", "");
        assertBalance("refused", 1);
    }

    private String refused(String bql, int status) throws Exception {
        HttpResponse<InputStream> answer = stream(bql);
        String body = new String(answer.body().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(answer.statusCode()).as(body).isEqualTo(status);
        JsonObject json = new JsonParser().parse(body).getAsJsonObject();
        return json.getAsJsonObject("meta").getAsJsonArray("errors").get(0).getAsJsonObject().get("error")
                .getAsString();
    }

    @Test
    void aSilentStreamGetsComments() throws Exception {
        start(new GatewayOptions(10, 10, 60_000, 1_000, QUICK));
        BufferedReader lines = reader(stream(WINDOWED).body());

        assertThat(lines.readLine()).isEqualTo(":");
        assertThat(lines.readLine()).isEmpty();
        assertThat(lines.readLine()).isEqualTo(":");
    }

    @Test
    void aClientThatGoesKillsItsQuery() throws Exception {
        start(new GatewayOptions(10, 10, 60_000, 1_000, QUICK));
        HttpResponse<InputStream> answer = stream(WINDOWED);
        PubSubMessage query = bullet.receive();

        answer.body().close();

        assertKilled(query);
        assertBalance("abandoned", 1);
        bullet.answer(query, "{}", null);
        assertThat(stats().get("unknown_results").getAsInt()).isEqualTo(1);
    }

    private void assertKilled(PubSubMessage query) {
        PubSubMessage kill = bullet.receive();
        assertThat(kill.getId()).isEqualTo(query.getId());
        assertThat(kill.hasSignal(Signal.KILL)).isTrue();
    }

    /** It takes nothing for a while, so its socket's buffers fill up first, a few MB, then the stream's. */
    @Test
    void aSlowClientLosesItsOldestWindowsAndGetsTheNewest() throws Exception {
        start(new GatewayOptions(10, 10, 60_000, 1_000, new StreamOptions(1 << 20, 60_000, 60_000)));
        try (Socket slow = idleClient()) {
            PubSubMessage query = bullet.receive();
            fillUp(query);
            assertThat(stats().get("active").getAsInt()).isEqualTo(1);
            bullet.answer(query, "{\"last\":true}", Signal.COMPLETE);

            assertThat(takeUntil(slow, "data:{\"last\":true}")).isTrue();
            assertBalance("returned", 1);
            assertEachWindowSentOrLeftOut();
            assertThat(stats().get("windows_sent").getAsInt()).isPositive();
        }
    }

    @Test
    void aClientThatTakesNothingIsGivenUp() throws Exception {
        start(new GatewayOptions(10, 10, 60_000, 1_000, new StreamOptions(1 << 20, 50, 1_500)));
        try (Socket idle = idleClient()) {
            PubSubMessage query = bullet.receive();
            fillUp(query);

            assertKilled(query);
            assertThat(idle.isClosed()).isFalse();
            assertBalance("abandoned", 1);
            assertThat(stats().get("streams").getAsInt()).isZero();
            assertEachWindowSentOrLeftOut();
        }
    }

    private void fillUp(PubSubMessage query) throws Exception {
        String window = "{\"window\":\"" + "x".repeat(1 << 19) + "\"}";
        for (int i = 0; stats().get("windows_left_out").getAsInt() == 0; i++) {
            assertThat(i).isLessThan(200);
            bullet.answer(query, window, null);
        }
    }

    private void assertEachWindowSentOrLeftOut() throws Exception {
        JsonObject stats = stats();
        assertThat(stats.get("windows").getAsInt())
            .isEqualTo(stats.get("windows_sent").getAsInt() + stats.get("windows_left_out").getAsInt());
    }

    private static boolean takeUntil(Socket socket, String text) throws IOException {
        BufferedReader lines = reader(socket.getInputStream());
        String line = lines.readLine();
        while (line != null && !line.equals(text)) {
            line = lines.readLine();
        }
        return line != null;
    }

    private Socket idleClient() throws IOException {
        String address = gateway.address();
        int colon = address.lastIndexOf(':');
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4_096);
        socket.connect(new InetSocketAddress(address.substring(0, colon),
                Integer.parseInt(address.substring(colon + 1))));
        socket.getOutputStream().write(("POST " + GatewayServer.STREAMS + " HTTP/1.1\r\nHost: x\r\nContent-Length: "
            + WINDOWED.length() + "\r\n\r\n" + WINDOWED).getBytes(StandardCharsets.UTF_8));
        return socket;
    }

    @Test
    void aStreamWithoutAnEndIsEndedAndKilled() throws Exception {
        start(new GatewayOptions(10, 10, 100, 50, QUICK));
        List<String> data = new ArrayList<>(reader(stream(WINDOWED).body()).lines().filter(
                line -> line.startsWith("data:")).toList());

        assertThat(data).hasSize(1);
        assertThat(data.get(0)).contains("No result came within 150 ms");
        assertKilled(bullet.receive());
        assertBalance("timed_out", 1);
    }

    @Test
    void aStoppingGatewayEndsStreamsWithTheReason() throws Exception {
        start(GatewayOptions.defaults());
        HttpResponse<InputStream> answer = stream(WINDOWED);
        bullet.receive();
        gateway.close();
        assertThat(reader(answer.body()).readLine()).startsWith("data:").contains("The gateway stops");
    }

    @Test
    void manyStreamsHaveFewThreads() throws Exception {
        start(new GatewayOptions(1_000, 1_000, 60_000, 1_000, new StreamOptions(1 << 20, 100, 10_000)));
        List<HttpResponse<InputStream>> answers = new ArrayList<>();
        List<PubSubMessage> queries = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            answers.add(stream(WINDOWED));
            queries.add(bullet.receive());
        }
        assertThat(stats().get("streams").getAsInt()).isEqualTo(200);
        assertThat(Thread.getAllStackTraces().keySet()).filteredOn(thread -> thread.getName().startsWith("gateway-"))
            .hasSizeLessThan(45);

        for (PubSubMessage query : queries) {
            bullet.answer(query, "{\"window\":1}", null);
            bullet.answer(query, "{\"window\":2}", Signal.COMPLETE);
        }
        for (HttpResponse<InputStream> answer : answers) {
            assertThat(reader(answer.body()).lines().filter(line -> line.startsWith("data:")))
                .containsExactly("data:{\"window\":1}", "data:{\"window\":2}");
        }
        assertWindows(200, 200, 0);
    }

    @Test
    void aValidationSaysYesOrWhyNot() throws Exception {
        start(GatewayOptions.defaults());
        assertThat(post(GatewayServer.VALIDATION, WINDOWED).statusCode()).isEqualTo(204);
        HttpResponse<String> wrong = post(GatewayServer.VALIDATION, "SELECT * FROM STREAM(1000, TIME) LIMIT 0");
        assertThat(wrong.statusCode()).isEqualTo(422);
        assertThat(wrong.body()).contains("LIMIT clause must be positive.");
        assertThat(stats().get("submitted").getAsInt()).isZero();
    }

    private void assertBalance(String counter, int expected) throws Exception {
        await(counter).until(() -> stats().get(counter).getAsInt() == expected);
        JsonObject stats = stats();
        int accounted = 0;
        for (String name : List.of("rejected", "refused", "returned", "failed", "timed_out", "stopped", "abandoned",
                "active")) {
            accounted += stats.get(name).getAsInt();
        }
        assertThat(stats.get("submitted").getAsInt()).as(stats.toString()).isEqualTo(accounted);
    }

    private void assertWindows(int came, int sent, int leftOut) throws Exception {
        JsonObject stats = stats();
        assertThat(List.of(stats.get("windows").getAsInt(), stats.get("windows_sent").getAsInt(),
            stats.get("windows_left_out").getAsInt())).containsExactly(came, sent, leftOut);
    }

    private JsonObject stats() throws Exception {
        HttpResponse<String> answer = http.send(HttpRequest.newBuilder(url(GatewayServer.STATS)).build(),
                BodyHandlers.ofString());
        return new JsonParser().parse(answer.body()).getAsJsonObject();
    }

    private HttpResponse<InputStream> stream(String bql) throws Exception {
        return http.send(HttpRequest.newBuilder(url(GatewayServer.STREAMS)).POST(BodyPublishers.ofString(bql)).build(),
                         BodyHandlers.ofInputStream());
    }

    private HttpResponse<String> post(String path, String body) throws Exception {
        return http.send(HttpRequest.newBuilder(url(path)).POST(BodyPublishers.ofString(body)).build(),
                BodyHandlers.ofString());
    }

    private URI url(String path) {
        return URI.create("http://" + gateway.address() + path);
    }

    private static BufferedReader reader(InputStream body) {
        return new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8));
    }
}
