package io.github.bulletmetrics.storm.noharm;

import java.io.File;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * {@link ConsumerBenchmark} by rounds: in each round every consumer once, in a JVM of its own, so that a machine whose
 * speed drifts is as slow for all of them; the ratio is taken in each round and its median is printed.
 */
public final class Ratios {
    private static final int ROUNDS = Bench.SECONDS.isPresent() ? 1 : Integer.getInteger("rounds", 5);

    private Ratios() {
    }

    /**
     * Prints the table.
     *
     * @param arguments the collector's program, the directory of captures, the jars of Storm 1.2.4.
     */
    public static void main(String[] arguments) throws Exception {
        Path logs = Files.createTempDirectory("bullet-metrics-bench");
        Path logging = logs.resolve("log4j2.xml");
        try (InputStream configuration = Ratios.class.getResourceAsStream("/noharm-log4j2.xml")) {
            Files.copy(configuration, logging);
        }
        Map<String, List<double[]>> rounds = new LinkedHashMap<>();
        for (int round = 0; round < ROUNDS; round++) {
            for (String consumer : Arrays.asList(ConsumerBenchmark.OURS, ConsumerBenchmark.LOGGING,
                    ConsumerBenchmark.LOGGING_1, ConsumerBenchmark.HTTP_1)) {
                RunResult result = new Runner(new OptionsBuilder().include(ConsumerBenchmark.class.getName()).param(
                        "consumer", consumer)
                        .jvmArgsAppend("-Xmx1g", "-Dcollector=" + arguments[0], "-Dcaptures=" + arguments[1],
                        "-Dstorm1=" + new File(arguments[2]).getAbsolutePath(),
                                "-Dlogs=" + logs, "-Dlog4j.configurationFile=" + logging,
                                "-Dlog4j.shutdownHookEnabled=false")
                        .build()).runSingle();
                Map<String, Result> ofThread = result.getSecondaryResults();
                double calls = ofThread.get("calls").getScore();
                rounds.computeIfAbsent(consumer, unseen -> new ArrayList<>())
                        .add(new double[] {ofThread.get("cpuNs").getScore() / calls / 1_000,
                        ofThread.get("bytes").getScore() / calls / 1_000});
            }
        }
        System.out.println("| consumer | microseconds of CPU a call on Storm's thread, median (least to most) | times ours, median of " + ROUNDS + " rounds (least to most) | KB allocated a call by that thread |");
        System.out.println("|---|---|---|---|");
        List<double[]> ours = rounds.get(ConsumerBenchmark.OURS);
        rounds.forEach((consumer, of) -> {
            List<Double> ms = new ArrayList<>();
            List<Double> ratios = new ArrayList<>();
            List<Double> kilobytes = new ArrayList<>();
            for (int round = 0; round < of.size(); round++) {
                ms.add(of.get(round)[0]);
                ratios.add(of.get(round)[0] / ours.get(round)[0]);
                kilobytes.add(of.get(round)[1]);
            }
            System.out.printf(Locale.ROOT, "| %s | %s | %s | %s |%n", consumer, text(ms), text(ratios),
                    text(kilobytes));
        });
    }

    private static String text(List<Double> values) {
        Collections.sort(values);
        return String.format(Locale.ROOT, "%.1f (%.1f to %.1f)", values.get(values.size() / 2), values.get(0),
                values.get(values.size() - 1));
    }
}
