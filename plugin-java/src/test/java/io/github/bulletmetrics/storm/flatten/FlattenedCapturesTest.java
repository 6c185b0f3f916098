package io.github.bulletmetrics.storm.flatten;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.SeriesDefinition;
import io.github.bulletmetrics.storm.proto.v1.Shape;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.Queued;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Workers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.storm.shade.org.json.simple.JSONValue;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every capture flattens to what {@code topology/captures/flattened} holds, which the collector's replay is held to as
 * well (collector-go/internal/collector/capture): a capture that is replayed is what the plugin would have sent.
 */
class FlattenedCapturesTest {
    private static final Path CAPTURES = Paths.get("..", "topology", "captures");

    static Stream<Path> captures() throws IOException {
        return Files.list(CAPTURES).filter(file -> file.toString().endsWith(".jsonl")).sorted();
    }

    @ParameterizedTest
    @MethodSource("captures")
    void aCaptureFlattensAsInTheCollector(Path capture) throws IOException {
        // Every data point is a report of its own here, and so a block.
        SampleQueue queue = new SampleQueue(100_000);
        Losses losses = new Losses();
        Flattener flattener = new Flattener(queue, losses, new Workers(), 10_000, failure -> {
            throw new AssertionError(failure);
        });
        for (String line : Files.readAllLines(capture, StandardCharsets.UTF_8)) {
            Map<?, ?> point = (Map<?, ?>) JSONValue.parse(line);
            if (point.get("name") == null) {
                continue;
            }
            flattener.begin((String) point.get("host"), number(point, "port"), (String) point.get("component"),
                    number(point, "task"),
                    number(point, "ts"), number(point, "interval"), 0);
            flattener.add((String) point.get("name"), point.get("value"));
            flattener.end();
        }
        String golden = capture.getFileName().toString().replace(".jsonl", ".txt");
        assertThat(text(queue, losses))
                .isEqualTo(new String(Files.readAllBytes(CAPTURES.resolve("flattened").resolve(golden)),
                StandardCharsets.UTF_8));
    }

    private static int number(Map<?, ?> point, String field) {
        return ((Number) point.get(field)).intValue();
    }

    private static String text(SampleQueue queue, Losses losses) {
        Map<String, Integer> counts = new TreeMap<>();
        for (Queued.Sample sample : Queued.samples(queue)) {
            SeriesDefinition series = sample.series().definition();
            counts.merge(series.getComponent() + " " + series.getName() + " [" + String.join(", ", series.getKeyList())
                    + "] "
                    + (series.getShape() == Shape.SHAPE_MAP ? "map" : "number"), 1, Integer::sum);
        }
        StringBuilder text = new StringBuilder();
        counts.forEach((name, count) -> text.append(name).append(' ').append(count).append('\n'));
        return text.append("unsupported ").append(losses.total(DropReason.DROP_REASON_UNSUPPORTED_VALUE)).append('\n')
                .toString();
    }
}
