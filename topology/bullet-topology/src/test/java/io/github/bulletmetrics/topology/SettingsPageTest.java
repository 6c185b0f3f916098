package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * {@code topology/SETTINGS.md} against the code. A setting of ours is a {@code static final String} whose value is its
 * name, in a class below this package; a class {@code ...Settings} with a static {@code from(BulletConfig)} also has
 * its defaults checked.
 */
class SettingsPageTest {
    private static final Pattern ROW = Pattern.compile(
            "\\| `(bullet\\.[\\w.]+)` \\| (\\w+) \\| (none|`[^`]+`) \\| ([^|]*)\\| ([^|]+)\\|");
    private static final Pattern NAME = Pattern.compile("bullet\\.[\\w.]*\\w");
    private static final Map<String, Class<?>> TYPES = Map.of("string", String.class, "integer", Integer.class, "float",
            Double.class,
        "boolean", Boolean.class, "list", List.class, "map", Map.class);

    private static Map<String, Row> bullets;
    private static Map<String, Row> ours;

    /** One setting; the default is null for none. */
    private record Row(String type, Object byDefault, String meaning) {
    }

    @BeforeAll
    static void read() throws IOException {
        String page = Files.readString(Path.of("..", "SETTINGS.md"));
        int own = page.indexOf("\n## Our own\n");
        assertThat(own).as("the section of our own settings").isPositive();
        bullets = rows(page.substring(0, own));
        ours = rows(page.substring(own));
    }

    private static Map<String, Row> rows(String text) {
        Map<String, Row> rows = new LinkedHashMap<>();
        text.lines().filter(line -> line.startsWith("| `")).forEach(line -> {
            Matcher row = ROW.matcher(line);
            assertThat(row.matches()).as("a row like | `name` | type | `default` or none | unit | meaning |: %s", line)
                    .isTrue();
            String value = row.group(3);
            Object byDefault = value.equals("none") ? null : new Yaml().load(value.substring(1, value.length() - 1));
            assertThat(rows.put(row.group(1), new Row(row.group(2), byDefault, row.group(5))))
                    .as("%s is there once", row.group(1)).isNull();
        });
        return rows;
    }

    @Test
    void listsBulletsSettingsWithTheDefaultsThatHold() throws IOException {
        Map<String, Object> defaults;
        try (InputStream in = BulletStormConfig.class.getResourceAsStream("/"
                + BulletStormConfig.DEFAULT_STORM_CONFIGURATION)) {
            defaults = new Yaml().load(in);
        }
        assertThat(bullets.keySet()).containsExactlyInAnyOrderElementsOf(defaults.keySet());
        BulletStormConfig config = new BulletStormConfig();
        bullets.forEach((name, row) -> assertThat(String.valueOf(config.get(name))).as(name).isEqualTo(
                String.valueOf(row.byDefault())));
    }

    @Test
    void saysTheRightTypes() {
        for (Map<String, Row> rows : List.of(bullets, ours)) {
            rows.forEach((name, row) -> {
                assertThat(TYPES).as(name).containsKey(row.type());
                if (row.byDefault() != null) {
                    Object value = row.type().equals("float") ? ((Number) row.byDefault()).doubleValue()
                            : row.byDefault();
                    assertThat(value).as(name).isInstanceOf(TYPES.get(row.type()));
                }
            });
        }
    }

    /** A bad value is replaced by the default, unless the row states that it is refused. */
    @Test
    void aBadValueOfBulletsIsReplacedByTheDefault() {
        Map<String, Object> bad = new LinkedHashMap<>();
        bullets.forEach((name, row) -> {
            if (name.startsWith("bullet.topology.") && row.byDefault() != null) {
                bad.put(name, row.type().equals("string") ? List.of(1) : row.type().equals("float") ? (Object) 256
                        : "bad");
            }
        });
        BulletStormConfig config = new BulletStormConfig();
        bad.forEach(config::set);
        config.validate();
        bad.keySet().forEach(name ->
            assertThat(String.valueOf(config.get(name))).as(name)
                    .isEqualTo(String.valueOf(bullets.get(name).byDefault())));
    }

    @Test
    void listsOurOwnSettings() throws Exception {
        Set<String> named = new TreeSet<>();
        for (Class<?> type : ourClasses()) {
            for (Field field : type.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) && Modifier.isFinal(field.getModifiers())
                        && field.getType() == String.class) {
                    field.setAccessible(true);
                    String value = (String) field.get(null);
                    if (NAME.matcher(value).matches() && !bullets.containsKey(value)) {
                        named.add(value);
                    }
                }
            }
        }
        assertThat(ours.keySet()).as("rows of ../SETTINGS.md, Our own").containsExactlyInAnyOrderElementsOf(named);
    }

    /** Written out, the page's defaults change nothing. */
    @Test
    void ourDefaultsHold() throws Exception {
        BulletConfig written = new BulletConfig();
        ours.forEach((name, row) -> {
            if (row.byDefault() != null) {
                written.set(name, row.byDefault());
            }
        });
        int checked = 0;
        for (Class<?> type : ourClasses()) {
            for (Method method : type.getDeclaredMethods()) {
                if (type.getSimpleName().endsWith("Settings") && method.getName().equals("from")
                        && Modifier.isStatic(method.getModifiers())
                    && method.getParameterCount() == 1 && method.getParameterTypes()[0] == BulletConfig.class) {
                    method.setAccessible(true);
                    assertThat(method.invoke(null, written)).as(type.getName())
                            .isEqualTo(method.invoke(null, new BulletConfig()));
                    checked++;
                }
            }
        }
        assertThat(checked).isPositive();
    }

    private static List<Class<?>> ourClasses() throws Exception {
        Path root = Path.of(BulletTopology.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        List<Class<?>> classes = new ArrayList<>();
        try (Stream<Path> files = Files.walk(root.resolve("io/github/bulletmetrics/topology"))) {
            for (Path file : files.filter(file -> file.toString().endsWith(".class")).collect(Collectors.toList())) {
                String name = root.relativize(file).toString().replace(".class", "").replace('/', '.');
                classes.add(Class.forName(name, false, BulletTopology.class.getClassLoader()));
            }
        }
        return classes;
    }
}
