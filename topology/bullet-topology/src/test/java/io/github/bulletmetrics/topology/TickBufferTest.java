package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TickBufferTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void keepsEachValueForItsTicks(int ticks) {
        TickBuffer<String> buffer = new TickBuffer<>(ticks);
        buffer.put("early", "a");
        buffer.tick();
        buffer.put("late", "b");
        buffer.put("removed", "c");
        assertThat(buffer.remove("removed")).isTrue();
        for (int i = 0; i < ticks - 1; i++) {
            assertThat(buffer.get("late")).isEqualTo("b");
            assertThat(buffer.tick()).doesNotContainKey("late");
        }
        assertThat(buffer.tick()).containsOnlyKeys("late");
        assertThat(buffer.size()).isZero();
    }
}
