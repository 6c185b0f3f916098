package io.github.bulletmetrics.topology.localprocess;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MarkerTest {
    private static final Program PROGRAM = new Program("local-storm");

    @ParameterizedTest
    @CsvSource({
        "/srv/out/storm,      -Dlocal.storm.dir=/srv/out/storm",
        "/a b,                 -Dlocal.storm.dir=/a=20b",
        "/a=20b,               -Dlocal.storm.dir=/a=3D20b",
        "/100%ID%,             -Dlocal.storm.dir=/100=25ID=25",
        "/ü,                   -Dlocal.storm.dir=/=C3=BC",
    })
    void keepsWhatIsPlainAndEscapesTheRest(String path, String argument) {
        assertThat(Marker.of(PROGRAM, Path.of(path)).argument()).isEqualTo(argument);
    }

    @Test
    void marksOnlyTheSameDirectory() {
        List<String> commandLine = List.of("java", Marker.of(PROGRAM, Path.of("/x/storm")).argument(), "Main");
        assertThat(Marker.of(PROGRAM, Path.of("/x/storm")).marks(commandLine)).isTrue();
        assertThat(Marker.of(PROGRAM, Path.of("/x/storm/a")).marks(commandLine)).isFalse();
        assertThat(Marker.of(PROGRAM, Path.of("/x")).marks(commandLine)).isFalse();
        assertThat(Marker.of(PROGRAM, Path.of("/x/storm")).marks(List.of("grep", "local.storm.dir=/x/storm")))
                .isFalse();
    }
}
