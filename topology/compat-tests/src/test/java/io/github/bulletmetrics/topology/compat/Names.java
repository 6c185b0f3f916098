package io.github.bulletmetrics.topology.compat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The canonical names that came from each row, beside each other. */
final class Names {
    /** Only where they happen. */
    private static final Set<String> EVENTS = Set.of("storm_failed_total", "bullet_annotation_active");

    private final Map<Setup, Set<String>> found;
    /** Without events. */
    private final Set<String> all = new TreeSet<>();

    Names(Map<Setup, Set<String>> found) {
        this.found = found;
        found.values().forEach(all::addAll);
        all.removeAll(EVENTS);
    }

    /** Names that came from every row. */
    Set<String> everywhere() {
        return all.stream().filter(name -> found.values().stream().allMatch(names -> names.contains(name)))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Ticked when a row has every name that any row has, but for those that it cannot have. */
    Cell check(Setup row) {
        List<String> wrong = new ArrayList<>();
        int absent = 0;
        for (String name : all) {
            boolean there = found.get(row).contains(name);
            boolean offered = Offer.of(name).map(offer -> offer.by().test(row)).orElse(true);
            absent += there ? 0 : 1;
            if (there != offered) {
                wrong.add(name + (there ? " unexpected" : " missing"));
            }
        }
        int has = found.get(row).size();
        return wrong.isEmpty() ? Cell.of(true, "%d names; %d others are not available", has, absent)
                : Cell.of(false, "%s", String.join(", ", wrong));
    }

    /** The names that not every row has, by the reason. */
    Map<String, Set<String>> byReason() {
        Map<String, Set<String>> reasons = new TreeMap<>();
        Set<String> everywhere = everywhere();
        for (String name : all) {
            if (!everywhere.contains(name)) {
                reasons.computeIfAbsent(Offer.of(name).map(Offer::reason).orElse("no reason known"),
                        any -> new TreeSet<>()).add(name);
            }
        }
        return reasons;
    }

    /** Whether a row has a name. */
    boolean has(Setup row, String name) {
        return found.get(row).contains(name);
    }
}
