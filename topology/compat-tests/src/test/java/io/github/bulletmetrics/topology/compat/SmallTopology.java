package io.github.bulletmetrics.topology.compat;

import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/**
 * A topology for any Storm, with Bullet's components and streams and with the metrics that a release of Bullet
 * registers, whose every figure is known beforehand: {@link #RECORDS} records, {@link #QUERIES} queries and what
 * {@link SmallBolts} counts.
 */
final class SmallTopology {
    /** Emitted by the one task of the source, and no more after that. */
    static final int RECORDS = 400;
    static final int RECORDS_A_SECOND = 25;
    static final int QUERIES = 20;
    static final int FILTER_TASKS = 2;
    static final int JOIN_TASKS = 2;
    /** How often Bullet's metrics report, s. */
    static final int INTERVAL_SECONDS = 5;

    private SmallTopology() {
    }

    static StormTopology of(BulletRelease bullet) {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("DataSource", new SmallSpouts.Records(bullet), 1);
        builder.setSpout(bullet.querySpout(), new SmallSpouts.Queries(bullet), 1);
        builder.setBolt("FilterBolt", new SmallBolts.Filter(bullet), FILTER_TASKS).shuffleGrouping("DataSource")
                .allGrouping(bullet.querySpout());
        builder.setBolt("JoinBolt", new SmallBolts.Join(bullet), JOIN_TASKS)
                .fieldsGrouping(bullet.querySpout(), new Fields("id"))
            .fieldsGrouping("FilterBolt", new Fields("id"));
        builder.setBolt("ResultBolt", new SmallBolts.Result(), 1).shuffleGrouping("JoinBolt");
        if (bullet.hasReplays()) {
            builder.setBolt("ReplayBolt", new SmallBolts.Replay(), 1).shuffleGrouping(bullet.querySpout());
        }
        return builder.createTopology();
    }
}
