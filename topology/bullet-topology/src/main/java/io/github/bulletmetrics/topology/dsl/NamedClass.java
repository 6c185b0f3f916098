package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.dsl.BulletDSLConfig;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.commons.lang3.StringUtils;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * A setting that names a class.
 *
 * @param config where it is set.
 * @param setting its name.
 * @param kind what the class must be.
 * @param known classes that there are, for those who look for one.
 */
record NamedClass(BulletConfig config, String setting, Class<?> kind, List<Class<?>> known) {
    /** At most this share of a name may differ for it to be what was meant. */
    private static final double LIKENESS = 0.34;

    /**
     * Checks that the class is there and is what it must be.
     *
     * @throws IllegalArgumentException states what to write.
     */
    void check() {
        type();
    }

    /**
     * The class that is named, initialised: bullet-dsl's checks would do it next.
     *
     * @throws IllegalArgumentException as {@link #check}.
     */
    Class<?> type() {
        Object name = config.get(setting);
        if (!(name instanceof String text) || text.isBlank()) {
            throw new IllegalArgumentException(setting + " is missing" + didYouMean(config, setting) + ": it must name "
                + "a " + kind.getName() + choices());
        }
        try {
            Class<?> type = Class.forName(text);
            if (!kind.isAssignableFrom(type)) {
                throw new IllegalArgumentException(setting + " is " + text + ", which is not a "
                        + kind.getName() + choices());
            }
            return type;
        } catch (LinkageError e) {
            throw new IllegalArgumentException(setting + " is " + text + ", which lacks a class (" + e.getMessage()
                + "): install its jar on the class path of the submitter and of the workers (Storm's extlib)", e);
        } catch (ClassNotFoundException e) {
            String meant = nearest(text, known.stream().map(Class::getName).toList())
                .map(near -> "; did you mean " + near + "?").orElse(choices());
            throw new IllegalArgumentException(setting + " is " + text + ", which cannot be loaded" + meant
                + " Your own classes must be on the class path of the submitter and of the workers (Storm's extlib)", e);
        }
    }

    private String choices() {
        return known.isEmpty() ? ", a class of yours." : ", for instance "
                + String.join(", ", known.stream().map(Class::getName).toList()) + ".";
    }

    /** " (did you mean ...?)" with what is set and looks like the setting, or nothing. */
    static String didYouMean(BulletConfig config, String setting) {
        List<String> others = config.getAll(Optional.empty()).keySet().stream()
            .filter(name -> name.startsWith("bul") && !name.equals(setting)).toList();
        return nearest(setting, others).filter(NamedClass::isStrange)
                .map(near -> " (you have " + near + "; did you mean it?)")
            .orElse("");
    }

    /** Whether no setting of this name is known, so that it can be a slip. */
    private static boolean isStrange(String name) {
        return !new BulletDSLConfig().getAll(Optional.empty()).containsKey(name)
            && !new BulletStormConfig().getAll(Optional.empty()).containsKey(name);
    }

    private static Optional<String> nearest(String to, Collection<String> names) {
        return names.stream().filter(name -> distance(to, name) <= LIKENESS * to.length())
            .min(Comparator.comparingInt(name -> distance(to, name)));
    }

    private static int distance(String a, String b) {
        return StringUtils.getLevenshteinDistance(a, b);
    }
}
