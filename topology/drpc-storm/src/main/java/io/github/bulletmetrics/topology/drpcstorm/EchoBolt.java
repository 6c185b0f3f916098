package io.github.bulletmetrics.topology.drpcstorm;

import org.apache.storm.Config;
import org.apache.storm.drpc.DRPCInvocationsClient;
import org.apache.storm.shade.org.json.simple.JSONValue;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.TupleUtils;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Holds each call for as long as its query says, {@code STREAM(ms, TIME)}, and then answers it as Bullet would a query
 * that found nothing. Storm's own ReturnResults does not reach a DRPC server from a LocalCluster.
 */
final class EchoBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;
    private static final Pattern LIFE = Pattern.compile("STREAM\\((\\d+), TIME\\)");

    private transient List<Call> held;
    private transient DRPCInvocationsClient server;
    private transient Map<?, ?> storm;

    private static final class Call {
        private final String id;
        private final String query;
        private final long endMs;
        private final Map<?, ?> from;

        private Call(Tuple tuple) {
            query = tuple.getString(0);
            from = (Map<?, ?>) JSONValue.parse(tuple.getString(1));
            id = (String) from.get("id");
            Matcher life = LIFE.matcher(query);
            endMs = System.currentTimeMillis() + (life.find() ? Long.parseLong(life.group(1)) : 0);
        }
    }

    @Override
    @SuppressWarnings("rawtypes")
    public void prepare(Map conf, TopologyContext context, OutputCollector collector) {
        storm = conf;
        held = new ArrayList<>();
        System.out.println("ready");
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return new HashMap<>(Collections.singletonMap(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, (Object) 1));
    }

    @Override
    public void execute(Tuple tuple) {
        int before = held.size();
        if (!TupleUtils.isTick(tuple)) {
            held.add(new Call(tuple));
        }
        long now = System.currentTimeMillis();
        held.removeIf(call -> call.endMs <= now && answer(call));
        if (held.size() != before) {
            System.out.println("active " + held.size());
        }
    }

    private boolean answer(Call call) {
        Map<?, ?> meta = Collections.singletonMap("Query", Collections.singletonMap("Query String", call.query));
        try {
            if (server == null) {
                int port = ((Number) call.from.get("port")).intValue();
                server = new DRPCInvocationsClient(storm, (String) call.from.get("host"), port);
            }
            server.result(call.id, "{\"records\":[],\"meta\":" + JSONValue.toJSONString(meta) + "}");
        } catch (org.apache.storm.thrift.TException e) {
            throw new IllegalStateException("The DRPC server rejected an answer", e);
        }
        return true;
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        // Answers go to the DRPC server.
    }
}
