package io.github.bulletmetrics.storm.hooks;

import io.github.bulletmetrics.storm.noharm.Bench;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * {@link HookCase} in several JVMs, since each compiles a little differently; prints medians, and of the differences
 * within triples how sure their median is.
 */
public final class HookCost {
    private static final int FORKS = Integer.getInteger("forks", Bench.SECONDS.isPresent() ? 1 : 3);
    private static final int TRIPLES = Integer.getInteger("triples", Bench.SECONDS.isPresent()
            ? Math.max(10, 2 * Bench.SECONDS.getAsInt()) : 80);
    private static final int WARM_UP_TRIPLES = Integer.getInteger("warmup", Math.min(30, TRIPLES / 2));
    private static final int NONE = 0;
    private static final int EMPTY = 1;
    private static final int OURS = 2;
    private static final int BYTES = 3;

    private HookCost() {
    }

    /** Prints the table. */
    public static void main(String[] arguments) throws Exception {
        List<double[]> triples = new ArrayList<>();
        List<List<double[]>> forks = new ArrayList<>();
        double calls = 0;
        for (int fork = 0; fork < FORKS; fork++) {
            List<double[]> ofFork = new ArrayList<>();
            calls = run(fork, ofFork);
            triples.addAll(ofFork);
            forks.add(ofFork);
        }
        System.out.printf(Locale.ROOT,
                "%.1f calls of a hook a record; %d triples in each of %d JVMs; load %.0f at the end%n%n", calls,
                TRIPLES, FORKS,
                ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
        System.out.println("| a record | ns of CPU: median (middle half) | 95% sure that the median is in | medians of the JVMs | bytes allocated |");
        System.out.println("|---|---|---|---|---|");
        row("without a hook", triples, forks, triple -> triple[NONE], triple -> triple[BYTES + NONE]);
        row("Storm's part of any hook: an empty one less none", triples, forks, triple -> triple[EMPTY] - triple[NONE],
                triple -> triple[BYTES + EMPTY] - triple[BYTES + NONE]);
        row("ours: the latency hook less an empty one", triples, forks, triple -> triple[OURS] - triple[EMPTY],
                triple -> triple[BYTES + OURS] - triple[BYTES + EMPTY]);
        row("both: the latency hook less none", triples, forks, triple -> triple[OURS] - triple[NONE],
                triple -> triple[BYTES + OURS] - triple[BYTES + NONE]);
    }

    private static void row(String name, List<double[]> triples, List<List<double[]>> forks,
            ToDoubleFunction<double[]> ns, ToDoubleFunction<double[]> bytes) {
        double[] all = sorted(triples, ns);
        int n = all.length;
        // The ranks between which a binomial of n and one half is with 95%.
        int off = (int) Math.ceil(0.98 * Math.sqrt(n));
        StringBuilder medians = new StringBuilder();
        for (List<double[]> fork : forks) {
            medians.append(medians.length() == 0 ? "" : ", ")
                    .append(String.format(Locale.ROOT, "%,.0f", sorted(fork, ns)[fork.size() / 2]));
        }
        System.out.printf(Locale.ROOT, "| %s | %,.0f (%,.0f to %,.0f) | %,.0f to %,.0f | %s | %,.0f |%n", name,
                all[n / 2], all[n / 4], all[3 * n / 4], all[Math.max(0, n / 2 - off)],
                all[Math.min(n - 1, n / 2 + off)], medians, sorted(triples, bytes)[n / 2]);
    }

    private static double[] sorted(List<double[]> triples, ToDoubleFunction<double[]> of) {
        return triples.stream().mapToDouble(of).sorted().toArray();
    }

    /**
     * Collecting garbage is on a thread of its own and not counted; the heap is fixed so that there is as little of it
     * as may be.
     */
    private static double run(int seed, List<double[]> triples) throws IOException, InterruptedException {
        List<String> command = Arrays.asList(Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xms1g", "-Xmx1g", "-Xmn700m", "-XX:+UseSerialGC",
                "-Dwarmup=" + WARM_UP_TRIPLES, "-cp", System.getProperty("java.class.path"),
                "-Dlog4j.configurationFile=classpath:noharm-log4j2.xml",
                "-Dlogs=" + System.getProperty("java.io.tmpdir"), HookCase.class.getName(), Integer.toString(TRIPLES),
                Integer.toString(seed));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        double calls = 0;
        try (BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(),
                StandardCharsets.UTF_8))) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                String[] parts = line.split(" ");
                if (parts[0].equals("CALLS")) {
                    calls = Double.parseDouble(parts[1]);
                } else if (parts[0].equals(HookCase.RESULT)) {
                    triples.add(Arrays.stream(parts).skip(1).mapToDouble(Double::parseDouble).toArray());
                }
            }
        }
        if (process.waitFor() != 0 || triples.size() != TRIPLES) {
            throw new IOException("the topology did not run: " + command);
        }
        return calls;
    }
}
