package com.yahoo.bullet;

import java.util.HashMap;
import java.util.Map;

/**
 * The configuration of a Bullet topology up to bullet-storm 0.4.3, as far as a metrics consumer needs it.
 *
 * <p>The name and the package are those of bullet-storm: a
 * {@code public static void register(org.apache.storm.Config, BulletConfig)} compiles against this class and runs
 * against either. There {@link #get} is inherited from a class of Bullet's own, which makes no difference to a caller
 * that names this one.
 */
public class BulletConfig {
    private final Map<String, Object> values = new HashMap<>();

    /** A configuration without settings. */
    public BulletConfig() {
    }

    /** The value of a setting; null where it has none. */
    public Object get(String name) {
        return values.get(name);
    }

    /** Sets a value: what a line of the YAML file does in Bullet, which has no such method for others. */
    public void set(String name, Object value) {
        values.put(name, value);
    }
}
