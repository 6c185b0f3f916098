package io.github.bulletmetrics.topology.compat;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

/**
 * The oldest Storm and the newest of {@code make compat}: the finished jar in a JVM of its own, the real collector,
 * PromQL.
 */
@Tag("slow")
class StormMatrixIT {
    private static final long LIFE_LIMIT_MS = 120_000;

    @TempDir(cleanup = CleanupMode.ON_SUCCESS)
    Path folder;

    @Test
    void anOldAndANewStormAreTickedThroughout() throws Exception {
        Matrix matrix = Matrix.of(Setup.OLD_AND_NEW, folder, LIFE_LIMIT_MS, new Progress(System.out));
        String table = new MatrixPage(matrix).markdown();
        assertThat(table).as(table).doesNotContain("✗");
        assertThat(matrix.isAllTicked()).as(table).isTrue();
        assertThat(matrix.rows()).hasSize(2)
                .allSatisfy((setup, cells) -> assertThat(cells).hasSize(Column.values().length));
    }
}
