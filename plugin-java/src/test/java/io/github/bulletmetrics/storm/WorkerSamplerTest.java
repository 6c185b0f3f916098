package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.storm.sampler.SamplePack;
import org.apache.storm.metric.api.IMetric;
import org.junit.jupiter.api.Test;

class WorkerSamplerTest {
    @Test
    void isMadeAsStormMakesItAndYieldsAPackAtOnce() throws ReflectiveOperationException {
        IMetric metric = (IMetric) Class.forName("io.github.bulletmetrics.storm.WorkerSampler").getDeclaredConstructor()
                .newInstance();
        Object value = metric.getValueAndReset();
        assertThat(value).isInstanceOf(byte[].class);
        assertThat(SamplePack.read((byte[]) value).process().pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(metric.getValueAndReset()).isNull();
    }
}
