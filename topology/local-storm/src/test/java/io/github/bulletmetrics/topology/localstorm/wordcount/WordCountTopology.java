package io.github.bulletmetrics.topology.localstorm.wordcount;

import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/** A word count over two workers, submitted by its main method: NAME and a directory where each counter leaves its pid. */
public final class WordCountTopology {
    private WordCountTopology() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new WordSpout(), 2);
        builder.setBolt("count", new CountBolt(args[1]), 2).fieldsGrouping("words", new Fields("word"));
        Config config = new Config();
        config.setNumWorkers(2);
        StormSubmitter.submitTopology(args[0], config, builder.createTopology());
        System.out.println("submitted " + args[0]);
    }
}
