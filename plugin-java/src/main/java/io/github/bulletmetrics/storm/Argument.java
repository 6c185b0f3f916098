package io.github.bulletmetrics.storm;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The {@code argument} of the consumer's registration: a map of settings, or a list of such maps, as in Storm's own
 * example. The prefix {@link Settings#PREFIX} of names is optional. Storm passes on whatever the file contains.
 * Therefore this class names the parts that have no effect instead of dropping them silently. Immutable.
 */
final class Argument {
    private final Map<String, Object> values = new LinkedHashMap<>();
    private final List<String> unknown = new ArrayList<>();
    private final List<String> ignored = new ArrayList<>();

    Argument(Object argument) {
        if (argument instanceof Collection) {
            for (Object one : (Collection<?>) argument) {
                read(one);
            }
        } else {
            read(argument);
        }
    }

    private void read(Object argument) {
        if (argument instanceof Map) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) argument).entrySet()) {
                read(String.valueOf(entry.getKey()), entry.getValue());
            }
        } else if (argument != null) {
            ignored.add("'" + argument + "' is not a map of settings");
        }
    }

    private void read(String given, Object value) {
        String name = Settings.NAMES.contains(Settings.PREFIX + given) ? Settings.PREFIX + given : given;
        if (!Settings.NAMES.contains(name)) {
            unknown.add(given);
        } else if (value == null) {
            ignored.add(name + " has no value");
        } else if (values.putIfAbsent(name, value) != null) {
            ignored.add(name + " is set twice; the first value is used");
        }
    }

    /** The value of a setting; null if there is none. */
    Object get(String name) {
        return values.get(name);
    }

    /** How many settings there are. */
    int size() {
        return values.size();
    }

    /** Names that are no setting's. */
    List<String> unknown() {
        return unknown;
    }

    /** Other parts of the argument that have no effect, each with its reason. */
    List<String> ignored() {
        return ignored;
    }
}
