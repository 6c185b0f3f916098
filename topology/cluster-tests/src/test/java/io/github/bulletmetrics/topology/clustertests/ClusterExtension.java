package io.github.bulletmetrics.topology.clustertests;

import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Gives a {@link StormCluster} to each method that has such a parameter: one for all classes of the run, started by the
 * first and stopped at the end, with nothing left. When a test or a {@code @BeforeAll} fails, it prints the cluster's
 * logs.
 */
final class ClusterExtension implements ParameterResolver, AfterTestExecutionCallback,
        LifecycleMethodExecutionExceptionHandler {
    private static final ExtensionContext.Namespace SPACE = ExtensionContext.Namespace.create(ClusterExtension.class);
    private static final Path FOLDER = Path.of(System.getProperty("cluster.tests.folder", "target/cluster-tests"));

    /** Closed by JUnit at the end of the run. */
    private record Shared(StormCluster cluster) implements AutoCloseable {
        @Override
        public void close() throws IOException, InterruptedException {
            cluster.close();
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == StormCluster.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return context.getRoot().getStore(SPACE).getOrComputeIfAbsent(Shared.class, any -> start(), Shared.class)
                .cluster();
    }

    private static Shared start() {
        try {
            Files.createDirectories(FOLDER);
            return new Shared(new StormCluster(Files.createTempDirectory(FOLDER.toAbsolutePath(), "run-")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            showLogs(context);
        }
    }

    @Override
    public void handleBeforeAllMethodExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        showLogs(context);
        throw failure;
    }

    private static void showLogs(ExtensionContext context) {
        Shared shared = context.getRoot().getStore(SPACE).get(Shared.class, Shared.class);
        if (shared == null) {
            return;
        }
        try {
            System.err.println("=== the cluster's logs after the failure of " + context.getDisplayName() + "\n"
                    + shared.cluster().logs());
        } catch (IOException e) {
            System.err.println("the cluster's logs cannot be read: " + e);
        }
    }
}
