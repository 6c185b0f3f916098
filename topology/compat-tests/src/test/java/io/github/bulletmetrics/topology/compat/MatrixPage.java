package io.github.bulletmetrics.topology.compat;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** The matrix for people: a table of ticks, and the page of the documentation with the numbers behind them. */
final class MatrixPage {
    private static final String NAMES = "same names";

    private final Matrix matrix;

    MatrixPage(Matrix matrix) {
        this.matrix = matrix;
    }

    /** The table, in columns of text. */
    String table() {
        List<List<String>> lines = new ArrayList<>();
        lines.add(header());
        matrix.rows().forEach((setup, cells) -> lines.add(line(setup, cells)));
        StringBuilder text = new StringBuilder();
        for (List<String> line : lines) {
            for (int i = 0; i < line.size(); i++) {
                int at = i;
                int width = lines.stream().mapToInt(each -> each.get(at).length()).max().orElse(0);
                text.append(String.format(Locale.ROOT, i == line.size() - 1 ? "%s" : "%-" + width + "s  ",
                        line.get(i)));
            }
            text.append('\n');
        }
        return text.toString();
    }

    private static List<String> header() {
        List<String> header = new ArrayList<>(List.of("Storm", "Java", "topology"));
        for (Column column : Column.values()) {
            header.add(column.title());
        }
        header.add(NAMES);
        return header;
    }

    private List<String> line(Setup setup, Map<Column, Cell> cells) {
        List<String> line = new ArrayList<>(List.of(setup.storm(), String.valueOf(setup.java().feature()),
                setup.runs()));
        for (Column column : Column.values()) {
            line.add(cells.containsKey(column) ? cells.get(column).mark() : "✗");
        }
        line.add(matrix.names().check(setup).mark());
        return line;
    }

    /** The page. */
    String markdown() {
        StringBuilder page = new StringBuilder();
        row(page, header());
        row(page, header().stream().map(any -> "---").toList());
        matrix.rows().forEach((setup, cells) -> row(page, line(setup, cells)));
        page.append("\n## Measured values\n");
        matrix.rows().forEach((setup, cells) -> {
            page.append("\n**Storm ").append(setup.storm()).append(", Java ").append(setup.java().feature())
                    .append(", ").append(setup.runs()).append("**\n\n");
            for (Column column : Column.values()) {
                Cell cell = cells.getOrDefault(column, Cell.of(false, "not checked"));
                page.append("- ").append(cell.mark()).append(' ').append(column.title()).append(": ")
                        .append(cell.says()).append('\n');
            }
            Cell names = matrix.names().check(setup);
            page.append("- ").append(names.mark()).append(' ').append(NAMES).append(": ").append(names.says())
                    .append('\n');
        });
        names(page);
        return page.toString();
    }

    private static void row(StringBuilder page, List<String> cells) {
        page.append("| ").append(String.join(" | ", cells)).append(" |\n");
    }

    private void names(StringBuilder page) {
        Set<String> everywhere = matrix.names().everywhere();
        page.append("\n## Metric names\n\nEvery row has these ").append(everywhere.size()).append(" canonical names: `")
                .append(String.join("`, `", everywhere))
            .append("`.\n\nSeries that are not in the catalog: ").append(Math.round(matrix.unknown()))
            .append(". These names are missing in some rows:\n\n");
        row(page, List.of("names", "missing in", "reason"));
        row(page, List.of("---", "---", "---"));
        matrix.names().byReason().forEach((reason, names) -> {
            List<String> without = matrix.rows().keySet().stream()
                    .filter(setup -> names.stream().anyMatch(name -> !matrix.names().has(setup, name)))
                .map(setup -> setup.storm() + " (" + (setup.hasHook() ? "Bullet " + setup.bullet().version()
                : "no Bullet") + ")").distinct().toList();
            row(page, List.of("`" + String.join("`, `", names) + "`", String.join(", ", without), reason));
        });
    }
}
