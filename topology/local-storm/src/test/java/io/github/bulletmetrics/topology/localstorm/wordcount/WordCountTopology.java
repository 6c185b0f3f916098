package io.github.bulletmetrics.topology.localstorm.wordcount;

import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/**
 * A word count, submitted by its main method: NAME WORKERS DIR, the directory being where each counter leaves its pid.
 */
public final class WordCountTopology {
    private WordCountTopology() {
    }

    public static void main(String[] args) throws Exception {
        int workers = Integer.parseInt(args[1]);
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new WordSpout(), workers);
        builder.setBolt("count", new CountBolt(args[2]), workers).fieldsGrouping("words", new Fields("word"));
        Config config = new Config();
        config.setNumWorkers(workers);
        StormSubmitter.submitTopology(args[0], config, builder.createTopology());
        System.out.println("submitted " + args[0]);
    }
}
