package io.github.bulletmetrics.topology.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.yahoo.bullet.record.BulletRecord;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class PartTest {
    private static final long START = 1_795_000_000_000_000L;
    private static final long SECOND = 1_000_000L;

    private final GeneratorSettings settings = new GeneratorSettings(9, 4, 64, 10_000,
        new SourceControl(100, List.of(new Probe("probe-1", 10)), 0), null, 1_000);

    /** Four producers that were started at different moments make together what one makes, and no record twice. */
    @Test
    void partsMakeTogetherWhatOneMakes() {
        List<Object> together = new ArrayList<>();
        List<Object> ids = new ArrayList<>();
        for (int i = 1; i <= 4; i++) {
            Part part = Part.parse(i + "/4");
            List<BulletRecord<?>> made = make(new PastEmission(settings, part.task(), part.of(), START + i * 17_000));
            assertThat(made.size()).as("the share of part %s", part).isBetween(274 - 4, 276);
            made.stream().filter(PartTest::probe)
                    .forEach(record -> together.add(record.typedGet("probe_sequence").getValue()));
            made.forEach(record -> ids.add(record.typedGet("record_id").getValue()));
        }
        List<Object> alone = make(new PastEmission(settings, 0, 1, START)).stream().filter(PartTest::probe)
            .<Object>map(record -> record.typedGet("probe_sequence").getValue()).toList();

        assertThat(alone).hasSize(100);
        assertThat(together).containsExactlyInAnyOrderElementsOf(alone);
        assertThat(ids).doesNotHaveDuplicates();
    }

    private static List<BulletRecord<?>> make(PastEmission emission) {
        List<BulletRecord<?>> records = new ArrayList<>();
        for (BulletRecord<?> record = emission.next(START + 10 * SECOND); record != null; record = emission.next(
                START + 10 * SECOND)) {
            records.add(record);
        }
        return records;
    }

    private static boolean probe(BulletRecord<?> record) {
        return record.typedGet("probe").getValue().equals("probe-1");
    }

    @Test
    void isOneOfAsManyAsThereAre() {
        assertThat(Part.parse("2/4")).isEqualTo(new Part(2, 4));
        for (String wrong : new String[] {"0/4", "5/4", "1/0", "1/1001"}) {
            assertThatThrownBy(() -> Part.parse(wrong)).hasMessageContaining("is not between 1/N and N/N");
        }
        for (String wrong : new String[] {"", "2", "2/", "-1/4", "a/b"}) {
            assertThatThrownBy(() -> Part.parse(wrong)).hasMessageContaining("the second of four is written 2/4");
        }
    }
}
