package io.github.bulletmetrics.topology.cluster;

import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.capture.CaptureConsumer;

import org.apache.storm.Config;

import java.util.Map;

/** A class for bullet.topology.metrics.classes, as a user would write one: registers the capture consumer. */
public final class RegisteredCapture {
    static final String FILE = "test.capture.file";

    private RegisteredCapture() {
    }

    public static void register(Config storm, BulletStormConfig bullet) {
        storm.registerMetricsConsumer(CaptureConsumer.class, Map.of(CaptureConsumer.FILE, bullet.get(FILE)), 1);
    }
}
