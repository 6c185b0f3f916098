package io.github.bulletmetrics.topology.drpcstorm;

import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.daemon.drpc;
import org.apache.storm.drpc.DRPCSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.utils.Utils;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;

/**
 * Storm's DRPC server and a topology that answers its calls, in one process, until stdin ends. The server reads Storm's
 * settings as {@code storm drpc} does, so ports go into {@code -Dstorm.options}; {@link FewThreads} bounds its threads.
 * The topology prints how many calls it holds, {@code active N}, whenever that changes; {@code ready} comes when calls
 * are answered.
 */
public final class EchoServer {
    private static final int EXIT_FAILED = 1;

    private EchoServer() {
    }

    /**
     * Runs until stdin ends.
     *
     * @param arguments the DRPC function.
     */
    public static void main(String[] arguments) {
        try {
            run(arguments[0]);
            Runtime.getRuntime().halt(0); // Storm's daemons have threads and a shutdown hook that would wait
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(EXIT_FAILED);
        }
    }

    private static void run(String function) throws IOException, ClassNotFoundException {
        // Both load Clojure's namespaces, and of two threads at once one meets half of what the other loads.
        Class.forName(drpc.class.getName());
        LocalCluster cluster = new LocalCluster();
        Thread server = new Thread(() -> drpc.main(new String[0]), "drpc"); // does not return
        server.setDaemon(true);
        server.start();
        @SuppressWarnings("unchecked")
        Map<String, Object> storm = Utils.readStormConfig();
        Config config = new Config();
        config.put(Config.DRPC_SERVERS, Arrays.asList("127.0.0.1"));
        config.put(Config.DRPC_INVOCATIONS_PORT, storm.get(Config.DRPC_INVOCATIONS_PORT));
        TopologyBuilder topology = new TopologyBuilder();
        topology.setSpout("calls", new DRPCSpout(function));
        topology.setBolt("echo", new EchoBolt()).shuffleGrouping("calls");
        cluster.submitTopology("echo", config, topology.createTopology());
        while (System.in.read() >= 0) {
            // Whatever is said is no end.
        }
        System.out.flush();
    }
}
