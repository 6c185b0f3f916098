package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.proto.v1.ComponentInfo;
import io.github.bulletmetrics.storm.proto.v1.ComponentInput;
import io.github.bulletmetrics.storm.proto.v1.ComponentKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.task.TopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Facts about the components of a topology, as Storm reports them. Facts that a version of Storm does not report are
 * omitted.
 */
final class ComponentFacts {
    private static final Logger LOG = LoggerFactory.getLogger(ComponentFacts.class);
    /** How the names of Storm's own components and streams begin. */
    private static final String SYSTEM = "__";
    private static final String SYSTEM_COMPONENT = "__system";

    private final TopologyContext context;
    private final Resources resources;

    /**
     * @param conf the topology's configuration, with its defaults of resources.
     */
    ComponentFacts(Map<?, ?> conf, TopologyContext context) {
        this.context = context;
        this.resources = new Resources(conf);
    }

    /**
     * The names of all components, sorted. Storm's context knows its own components (ackers, metrics consumers) by
     * their tasks alone.
     */
    Set<String> names() {
        Set<String> names = new TreeSet<>(context.getComponentIds());
        names.addAll(context.getTaskToComponent().values());
        return names;
    }

    ComponentInfo of(String name) {
        ComponentInfo.Builder info = ComponentInfo.newBuilder().setName(name);
        read(name, () -> kind(name, info));
        read(name, () -> parallelism(name, info));
        read(name, () -> resources(name, info));
        if (!name.startsWith(SYSTEM)) {
            read(name, () -> inputs(name, info));
        }
        return info.build();
    }

    private static void read(String component, Runnable fact) {
        try {
            fact.run();
        } catch (RuntimeException | LinkageError unavailable) {
            LOG.debug("Storm does not report all facts of component {}", component, unavailable);
        }
    }

    private void kind(String name, ComponentInfo.Builder info) {
        if (context.getRawTopology().get_spouts().containsKey(name)) {
            info.setKind(ComponentKind.COMPONENT_KIND_SPOUT);
        } else if (name.startsWith(SYSTEM) || context.getRawTopology().get_bolts().containsKey(name)) {
            info.setKind(ComponentKind.COMPONENT_KIND_BOLT);
        }
    }

    /** Storm gives its own components an executor for each task. */
    private void parallelism(String name, ComponentInfo.Builder info) {
        List<Integer> tasks = context.getComponentTasks(name);
        info.addAllTasks(tasks).setParallelism(tasks.size());
        if (!name.startsWith(SYSTEM)) {
            ComponentCommon common = context.getComponentCommon(name);
            int hint = common.is_set_parallelism_hint() ? common.get_parallelism_hint() : 1;
            info.setParallelism(Math.min(Math.max(hint, 1), Math.max(tasks.size(), 1)));
        }
    }

    /** Storm's system bolt is in every worker and is given nothing. */
    private void resources(String name, ComponentInfo.Builder info) {
        if (name.equals(SYSTEM_COMPONENT)) {
            return;
        }
        String own = "";
        if (!name.startsWith(SYSTEM)) {
            ComponentCommon common = context.getComponentCommon(name);
            own = common.is_set_json_conf() ? common.get_json_conf() : "";
        }
        info.setCpuPercent(resources.cpuPercent(name, own))
                .setOnHeapMib(resources.onHeapMib(name, own))
                .setOffHeapMib(resources.offHeapMib(name, own));
    }

    private void inputs(String name, ComponentInfo.Builder info) {
        Map<String, ComponentInput> inputs = new TreeMap<>();
        for (Map.Entry<GlobalStreamId, Grouping> input : context.getSources(name).entrySet()) {
            String component = input.getKey().get_componentId();
            String stream = input.getKey().get_streamId();
            if (!stream.startsWith(SYSTEM)) {
                inputs.put(component + " " + stream, input(component, stream, input.getValue()));
            }
        }
        info.addAllInputs(inputs.values());
    }

    private static ComponentInput input(String component, String stream, Grouping grouping) {
        List<String> fields = grouping.is_set_fields() ? grouping.get_fields() : new ArrayList<>();
        return ComponentInput.newBuilder()
                .setComponent(component)
                .setStream(stream)
                .setGrouping(nameOf(grouping))
                .addAllFields(fields)
                .build();
    }

    /** Storm's global grouping is a fields grouping by no field. */
    private static String nameOf(Grouping grouping) {
        if (grouping.is_set_fields()) {
            return grouping.get_fields().isEmpty() ? "global" : "fields";
        }
        if (grouping.is_set_shuffle()) {
            return "shuffle";
        }
        if (grouping.is_set_local_or_shuffle()) {
            return "local_or_shuffle";
        }
        if (grouping.is_set_all()) {
            return "all";
        }
        if (grouping.is_set_direct()) {
            return "direct";
        }
        return grouping.is_set_none() ? "none" : "custom";
    }
}
