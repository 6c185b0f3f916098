package io.github.bulletmetrics.storm.send;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class SpreadTest {
    private static final int TOPOLOGIES = 10_000;
    private static final List<Address> FIVE = addresses("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5");

    private static List<Address> addresses(String... texts) {
        return Stream.of(texts).map(Address::parse).toList();
    }

    private static Stream<String> topologies() {
        return IntStream.range(0, TOPOLOGIES).mapToObj(number -> "bullet-" + number);
    }

    private static Map<String, Long> firsts(List<Address> of) {
        return topologies().collect(Collectors.groupingBy(topology -> Spread.order(topology, of).get(0).toString(),
                Collectors.counting()));
    }

    @Test
    void topologiesAreSpreadEvenly() {
        assertThat(firsts(FIVE)).hasSize(5).allSatisfy((address, count) -> assertThat(count)
                .as("of %d at %s, five standard deviations", TOPOLOGIES, address).isBetween(1_800L, 2_200L));
    }

    @Test
    void thoseOfACollectorThatIsAwayAreSpreadOverTheOthers() {
        Map<String, Long> seconds = topologies().map(topology -> Spread.order(topology, FIVE))
                .filter(order -> order.get(0).equals(FIVE.get(2)))
                .collect(Collectors.groupingBy(order -> order.get(1).toString(), Collectors.counting()));
        assertThat(seconds).hasSize(4).allSatisfy((address, count) -> assertThat(count).isBetween(400L, 600L));
    }

    @Test
    void aFurtherCollectorTakesTopologiesAndMovesNoOther() {
        List<Address> six = new ArrayList<>(FIVE);
        six.add(1, Address.parse("10.0.0.6"));
        assertThat(topologies()).allSatisfy(topology -> {
            List<Address> order = new ArrayList<>(Spread.order(topology, six));
            order.remove(six.get(1));
            assertThat(order).isEqualTo(Spread.order(topology, FIVE));
        });
        assertThat(firsts(six).get("10.0.0.6:4320")).isBetween(1_450L, 1_880L);
    }

    /** Computed with Python from the definitions of FNV-1a and MurmurHash3: another process has the same order. */
    @Test
    void theOrderIsTheSameEverywhereAndDoesNotDependOnTheList() {
        List<Address> reversed = new ArrayList<>(FIVE);
        Collections.reverse(reversed);
        for (String topology : new String[] {"bullet", "b\u00fcllet"}) {
            assertThat(Spread.order(topology, reversed)).isEqualTo(Spread.order(topology, FIVE));
        }
        assertThat(Spread.order("bullet", FIVE)).hasToString(
                "[10.0.0.5:4320, 10.0.0.2:4320, 10.0.0.3:4320, 10.0.0.4:4320, 10.0.0.1:4320]");
        assertThat(Spread.order("b\u00fcllet", FIVE)).hasToString(
                "[10.0.0.2:4320, 10.0.0.5:4320, 10.0.0.3:4320, 10.0.0.4:4320, 10.0.0.1:4320]");
    }
}
