package io.github.bulletmetrics.storm;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** Versions of artefacts, as stated by the artefacts on the class path. */
final class PluginVersion {
    private static final String UNKNOWN = "";

    private PluginVersion() {
    }

    /** This plugin's. */
    static String ofPlugin() {
        return read(PluginVersion.class.getResourceAsStream("plugin.properties"));
    }

    /**
     * Bullet's: that of bullet-storm, and where that is not to be had "core-" and that of bullet-core; empty where
     * there is none.
     */
    static String ofBullet(ClassLoader topology) {
        String storm = ofArtifact(topology, "bullet-storm");
        String core = storm.isEmpty() ? ofArtifact(topology, "bullet-core") : UNKNOWN;
        return core.isEmpty() ? storm : "core-" + core;
    }

    private static String ofArtifact(ClassLoader loader, String artifact) {
        return loader == null ? UNKNOWN
                : read(loader.getResourceAsStream("META-INF/maven/com.yahoo.bullet/" + artifact + "/pom.properties"));
    }

    private static String read(InputStream properties) {
        if (properties == null) {
            return UNKNOWN;
        }
        try (InputStream in = properties) {
            Properties read = new Properties();
            read.load(in);
            return read.getProperty("version", UNKNOWN);
        } catch (IOException | IllegalArgumentException unreadable) {
            return UNKNOWN;
        }
    }
}
