package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

type row struct{ name, cpu, note string }

// sample returns a document with every kind of block.
func sample() *document.Document {
	d := &document.Document{Title: "A <run>", Verdict: "FAIL", Findings: []string{"It held 200."},
		Notes: []string{"Made up."}}
	d.Add("Steps", document.Heading("Alone"), document.Heading("In numbers"), document.Tabled(document.TableOf(
		[]row{{"one | two", "60,000", ""}, {"three", "7", ""}},
		document.Text("Step", func(r row) string { return r.name }),
		document.Number("CPU", "ms/min", func(r row) string { return r.cpu }),
		document.Text("Note", func(r row) string { return r.note }),
	).WithoutBlank()), document.List([]string{"a reason"}), document.Paragraph("100%% of %d", 3),
		document.Heading("Last"))
	d.Add("Diff", document.Diff("- a: 1\n+ a: 2"))
	d.Add("Nothing", document.List(nil), document.Tabled(document.Pairs()), document.Verbatim(""))
	d.Add("Settings", document.Verbatim("a: 2\n"))
	d.Figures = []chart.Figure{chart.Plot{Name: "cpu", Title: "CPU & heap", Limit: chart.NoLimit,
		Points: []chart.Points{
			{Name: "measured", Colour: chart.Series(0), X: []float64{1, 2}, Y: []float64{3, chart.Unknown}},
		}}.Figure()}
	d.Note("Made up.")
	return d
}

func TestADocumentAsText(t *testing.T) {
	assert.Equal(t, `A <run> (FAIL)
  It held 200.

Steps
In numbers

  Step       CPU ms/min
  one | two      60,000
  three               7

  - a reason

  100% of 3

Diff
  - a: 1
  + a: 2

Settings
  a: 2

Notes
  - Made up.
`, sample().Text())
}

func TestADocumentAsMarkdown(t *testing.T) {
	text := sample().Markdown("figures")
	assert.Equal(t, "# A <run> (FAIL)\n\n- It held 200.\n\n## Steps\n\n### In numbers\n\n"+
		"| Step | CPU ms/min |\n|---|---:|\n| one \\| two | 60,000 |\n| three | 7 |\n\n- a reason\n\n100% of 3\n\n"+
		"## Diff\n\n```diff\n- a: 1\n+ a: 2\n```\n\n## Settings\n\n```\na: 2\n```\n\n"+
		"## Figures\n\n![CPU & heap](figures/cpu.svg)\n\n## Notes\n\n- Made up.\n", text)
	assert.NotContains(t, sample().Markdown(""), "## Figures")
}

func TestADocumentAsHTML(t *testing.T) {
	html, err := sample().HTML()
	require.NoError(t, err)
	page := string(html)
	for _, want := range []string{
		"<title>A &lt;run&gt; (FAIL)</title>", `<span class="verdict fail">FAIL</span>`,
		`<th class="n">CPU ms/min</th>`,
		`<td class="n">60,000</td>`, `<details><summary>Settings</summary><div id="s2">`,
		`<li><a href="#s2">Settings</a></li>`, `<svg class="narrow" `, `aria-label="CPU &amp; heap"`, "var(--ink)",
	} {
		assert.Contains(t, page, want)
	}
	for _, never := range []string{"Nothing", "Alone", "Last", "#1F2328", "NaN"} {
		assert.NotContains(t, page, never)
	}
	assert.Equal(t, 1, strings.Count(page, "Made up."))
}

// Within another document, a document keeps its sections under headings.
func TestADocumentWithinAnother(t *testing.T) {
	outer := &document.Document{Title: "All"}
	outer.Add("One", sample().Blocks()...)
	text := outer.Markdown("")
	assert.Contains(t, text, "## One\n\n- It held 200.\n\n### In numbers\n\n| Step |")
	assert.Contains(t, text, "### Diff\n\n```diff\n")
}
