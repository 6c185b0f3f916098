package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JvmFlagsTest {
    @ParameterizedTest
    @ValueSource(strings = {"-Xmx768m", "-Xms1G", "-Xmn200m", "-Xss512k", "-Xmx%HEAP-MEM%m", "-XX:+UseG1GC",
            "-XX:-UseConcMarkSweepGC", "-XX:+UseZGC",
        "-XX:MaxGCPauseMillis=50", "-XX:ParallelGCThreads=4", "-XX:G1HeapRegionSize=8m", "-XX:+G1UseAdaptiveIHOP",
        "-XX:MaxRAMPercentage=75.0",
        "-XX:NewRatio=2", "-XX:+AlwaysPreTouch", "-XX:CMSInitiatingOccupancyFraction=70", "-XX:MaxDirectMemorySize=1g"})
    void flagsOfHeapAndCollectorsAreReported(String flag) {
        assertThat(JvmFlags.flags("-Dx=y " + flag + "  -verbose:gc")).isEqualTo(flag);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-Dpassword=s3cret", "-Djavax.net.ssl.keyStorePassword=s3cret",
            "-javaagent:/opt/agent.jar=token=s3cret", "s3cret",
        "-Xmx1g-Dpassword=s3cret", "-Xmx1g;s3cret", "-Xloggc:/s3cret", "-Xlog:gc:file=/s3cret",
        "-XX:OnOutOfMemoryError=s3cret", "-XX:HeapDumpPath=/s3cret",
        "-XX:MaxGCPauseMillis=s3cret", "-XX:+s3cret", "-XX:Flags=/s3cret", "-XX:G1HeapRegionSize=1s3cret",
        "-Xbootclasspath/a:/s3cret", "-Xrunjdwp:s3cret",
        "-xx:+UseG1GC=s3cret", "\"-Xmx1g s3cret\"", "--s3cret"})
    void nothingElseIs(String option) {
        assertThat(JvmFlags.flags(option)).isEmpty();
        assertThat(JvmFlags.flags(List.of("-Xmx1g", option))).isEqualTo("-Xmx1g");
    }

    @Test
    void optionsMayBeATextOrAListOfTexts() {
        assertThat(JvmFlags.flags(List.of("-Xmx1g -Da=b", "-XX:+UseG1GC"))).isEqualTo("-Xmx1g -XX:+UseG1GC");
        assertThat(JvmFlags.flags("")).isEmpty();
        assertThat(JvmFlags.flags(7)).isEmpty();
    }
}
