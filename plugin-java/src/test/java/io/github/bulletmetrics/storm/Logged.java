package io.github.bulletmetrics.storm;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;

/** What a class logs while this is open, "LEVEL message"; the tests' own configuration prints nothing. */
public final class Logged implements AutoCloseable {
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final Logger logger;
    private final Level before;
    private final AbstractAppender appender = new AbstractAppender("test", null, null, true) {
        @Override
        public void append(LogEvent event) {
            lines.add(event.getLevel() + " " + event.getMessage().getFormattedMessage());
        }
    };

    public Logged(Class<?> by) {
        logger = (Logger) LogManager.getLogger(by);
        before = logger.getLevel();
        appender.start();
        logger.addAppender(appender);
        logger.setLevel(Level.INFO);
        logger.setAdditive(false);
    }

    public List<String> lines() {
        return lines;
    }

    @Override
    public void close() {
        logger.setLevel(before);
        logger.setAdditive(true);
        logger.removeAppender(appender);
    }
}
