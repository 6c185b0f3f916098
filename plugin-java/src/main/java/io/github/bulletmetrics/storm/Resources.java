package io.github.bulletmetrics.storm;

import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The resources of one instance of a component, determined as Storm's resource-aware scheduler does. The component's
 * own setting has precedence. Next are, for ackers and metrics consumers, the topology's settings for these (Storm 2.0
 * and later), then the topology's default, and then 0. Source: Storm's {@code NormalizedResourceRequest} and {@code
 * defaults.yaml}.
 */
final class Resources {
    private static final String ACKER = "__acker";
    private static final String METRICS_CONSUMER = "__metrics";

    private final Map<?, ?> conf;

    Resources(Map<?, ?> conf) {
        this.conf = conf;
    }

    /**
     * In percent of a core.
     *
     * @param json the component's own configuration, as Storm holds it; empty if it has none.
     */
    double cpuPercent(String component, String json) {
        return CPU.of(component, json, conf);
    }

    /** MiB. */
    double onHeapMib(String component, String json) {
        return ON_HEAP.of(component, json, conf);
    }

    /** MiB. */
    double offHeapMib(String component, String json) {
        return OFF_HEAP.of(component, json, conf);
    }

    private static final Resource CPU = new Resource("cpu.pcore.percent", "topology.component.cpu.pcore.percent",
            "topology.acker.cpu.pcore.percent", "topology.metrics.consumer.cpu.pcore.percent");
    private static final Resource ON_HEAP = new Resource("onheap.memory.mb",
            "topology.component.resources.onheap.memory.mb",
            "topology.acker.resources.onheap.memory.mb", "topology.metrics.consumer.resources.onheap.memory.mb");
    private static final Resource OFF_HEAP = new Resource("offheap.memory.mb",
            "topology.component.resources.offheap.memory.mb",
            "topology.acker.resources.offheap.memory.mb", "topology.metrics.consumer.resources.offheap.memory.mb");

    /** One of the three, under its names. */
    private static final class Resource {
        private final Pattern own;
        private final String byDefault;
        private final String ofAckers;
        private final String ofMetricsConsumers;

        /**
         * @param shortName under which Storm 2 has it in the component's map of resources.
         */
        Resource(String shortName, String name, String ofAckers, String ofMetricsConsumers) {
            // Storm's JSON library has another name in each line; of its output one number is needed.
            own = Pattern.compile("\"(?:" + Pattern.quote(name) + "|" + Pattern.quote(shortName)
                    + ")\"\\s*:\\s*([0-9][0-9.eE+-]*)");
            byDefault = name;
            this.ofAckers = ofAckers;
            this.ofMetricsConsumers = ofMetricsConsumers;
        }

        double of(String component, String json, Map<?, ?> conf) {
            Double found = number(json);
            if (found == null && component.equals(ACKER)) {
                found = number(conf.get(ofAckers));
            }
            if (found == null && component.startsWith(METRICS_CONSUMER)) {
                found = number(conf.get(ofMetricsConsumers));
            }
            if (found == null) {
                found = number(conf.get(byDefault));
            }
            return found == null ? 0 : found;
        }

        private Double number(String json) {
            Matcher matcher = own.matcher(json);
            try {
                return matcher.find() ? Double.valueOf(matcher.group(1)) : null;
            } catch (NumberFormatException noNumber) {
                return null;
            }
        }

        private static Double number(Object value) {
            return value instanceof Number ? Double.valueOf(((Number) value).doubleValue()) : null;
        }
    }
}
