package io.github.bulletmetrics.storm.hooks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** {@link HookCase} by rounds: in each round without a hook, with an empty one, with ours, each in a JVM of its own; medians and their differences. */
public final class HookCost {
    private static final int ROUNDS = Integer.getInteger("rounds", 5);
    private static final String NONE = "no hook";
    private static final String EMPTY = "an empty hook";
    private static final String OURS = "the latency hook";
    private static final String COUNTING = "counting";

    private HookCost() {
    }

    /** Prints the table. */
    public static void main(String[] arguments) throws Exception {
        Map<String, String> hooks = new LinkedHashMap<>();
        hooks.put(NONE, null);
        hooks.put(EMPTY, HookCase.Empty.class.getName());
        hooks.put(OURS, "io.github.bulletmetrics.storm.LatencyHook");
        double events = run(HookCase.Counting.class.getName())[1];
        Map<String, List<Double>> costs = new LinkedHashMap<>();
        Map<String, List<Double>> above = new LinkedHashMap<>();
        for (int round = 0; round < ROUNDS; round++) {
            double before = 0;
            for (Map.Entry<String, String> hook : hooks.entrySet()) {
                double[] result = run(hook.getValue());
                costs.computeIfAbsent(hook.getKey(), unseen -> new ArrayList<>()).add(result[0]);
                above.computeIfAbsent(hook.getKey(), unseen -> new ArrayList<>()).add(before == 0 ? 0 : result[0] - before);
                before = result[0];
            }
        }
        System.out.printf(Locale.ROOT, "%.1f calls of a hook a record (%s run)%n%n", events, COUNTING);
        System.out.println("| case | ns of CPU a record, median of " + ROUNDS + " (least to most) | above the row before, median (least to most) | the same for each call of a hook |");
        System.out.println("|---|---|---|---|");
        costs.forEach((name, of) -> {
            List<Double> differences = above.get(name);
            String text = text(differences);
            System.out.printf(Locale.ROOT, "| %s | %s | %s | %s |%n", name, text(of), name.equals(NONE) ? "" : text,
                    name.equals(NONE) ? "" : String.format(Locale.ROOT, "%.0f", differences.get(differences.size() / 2) / events));
        });
    }

    private static double[] run(String hook) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(Arrays.asList(Paths.get(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx768m", "-XX:+UseSerialGC",
                "-cp", System.getProperty("java.class.path"), "-Dlog4j.configurationFile=classpath:noharm-log4j2.xml", "-Dlogs=" + System.getProperty("java.io.tmpdir"),
                HookCase.class.getName()));
        if (hook != null) {
            command.add(hook);
        }
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        double[] result = null;
        try (BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                if (line.startsWith("RESULT ")) {
                    String[] parts = line.split(" ");
                    result = new double[] {Double.parseDouble(parts[1]), Double.parseDouble(parts[2])};
                    System.err.println((hook == null ? NONE : hook) + ": " + line);
                }
            }
        }
        if (process.waitFor() != 0 || result == null) {
            throw new IOException("the topology did not run: " + command);
        }
        return result;
    }

    private static String text(List<Double> values) {
        Collections.sort(values);
        return String.format(Locale.ROOT, "%.0f (%.0f to %.0f)", values.get(values.size() / 2), values.get(0), values.get(values.size() - 1));
    }
}
