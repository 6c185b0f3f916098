package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Write writes report.json, report.md, report.html and the figures into dir.
func (r *Report) Write(dir string) error {
	if err := r.WriteFigures(filepath.Join(dir, "figures")); err != nil {
		return err
	}
	for _, form := range []struct {
		name string
		make func() ([]byte, error)
	}{{"report.json", r.JSON}, {"report.md", r.Markdown}, {"report.html", r.HTML}} {
		text, err := form.make()
		if err != nil {
			return fmt.Errorf("make %s: %w", form.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, form.name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// JSON is the report as data; what is not known is null.
func (r *Report) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	return append(text, '\n'), err
}

// headline is the run in one sentence.
func (r *Report) headline() string {
	most := 0
	for _, s := range r.Steps {
		if s.Verdict == tuning.OK {
			most = max(most, s.Queries)
		}
	}
	switch r.Verdict {
	case tuning.OK:
		return fmt.Sprintf("All steps met the goals, up to %d simultaneous queries.", most)
	case tuning.Fail:
		return fmt.Sprintf("At least one step missed a goal; the largest step that met all of them had %d simultaneous queries.", most)
	}
	return "At least one step could not be judged; the reasons are below."
}

// goals are the goals as sentences.
func (r *Report) goals() []string {
	return []string{
		fmt.Sprintf("Filter latency at most %s ms: %s.", number(r.Goals.FilterLatencyLimitMs, 0), r.Goals.FilterLatencyStatistic),
		fmt.Sprintf("Average result size at least %s of %s records: mean over the step's queries that lived in its measured time, whenever they ended.",
			number(r.Goals.SmallestResultSize, 2), number(r.Goals.ExpectedResultSize, 0)),
		fmt.Sprintf("At least %s of the host idle; below that a step is inconclusive.", percent(r.Goals.MinHostIdle)),
	}
}

// reasons tell why steps are not OK.
func (r *Report) reasons() (out []string) {
	for _, s := range r.Steps {
		for _, reason := range s.Reasons {
			out = append(out, fmt.Sprintf("%d queries (%s): %s.", s.Queries, s.Verdict, reason))
		}
	}
	return out
}

// howCalibrated tells how the record rate was found.
func (r *Report) howCalibrated() string {
	c := r.Calibration
	if !c.TargetIdle.Known() {
		return fmt.Sprintf("The record rate was given: %s records/s.", number(c.RecordsPerSecond, 0))
	}
	var looks []string
	for _, reading := range c.Readings {
		looks = append(looks, fmt.Sprintf("%s records/s left %s idle", number(reading.RecordsPerSecond, 0), percent(reading.HostIdle)))
	}
	return fmt.Sprintf("The record rate was to leave %s of the host idle at 0 queries: %s; chosen: %s records/s, which left %s in the step of 0 queries.",
		percent(c.TargetIdle), strings.Join(looks, ", "), number(c.RecordsPerSecond, 0), percent(r.Steps[0].HostIdle))
}

// howCollected tells whether the collector's figures are whole.
func (r *Report) howCollected() string {
	c := r.Collection
	return fmt.Sprintf("Stored slices of %d s; %d of %d expected worker slices are missing; the collector was restarted %d times.",
		c.StoredSliceMs/1000, c.MissingSlices, c.ExpectedSlices, c.CollectorRestarts)
}

func (r *Report) when() string {
	return time.UnixMilli(r.StartedMs).UTC().Format("2006-01-02 15:04:05 UTC")
}

// Markdown is the report as text.
func (r *Report) Markdown() ([]byte, error) {
	var out bytes.Buffer
	section := func(title, body string) { fmt.Fprintf(&out, "\n## %s\n\n%s", title, body) }
	list := func(lines []string) string { return "- " + strings.Join(lines, "\n- ") + "\n" }
	fmt.Fprintf(&out, "# %s (%s)\n\n%s Topology `%s`, first step at %s.\n", r.Title, r.Verdict, r.headline(), r.Topology, r.when())
	section("Steps", r.stepTable().markdown())
	if reasons := r.reasons(); len(reasons) > 0 {
		fmt.Fprintf(&out, "\n%s", list(reasons))
	}
	section("Goals", list(r.goals()))
	section("Over time", "![All figures over one time axis](figures/"+timeline+".svg)\n")
	section("Queries", "`"+r.Query+"`\n\n"+r.queryTable().markdown())
	section("Share of the host's processors", r.howCalibrated()+"\n\n"+r.shareTable().markdown())
	section("Collection", r.howCollected()+"\n")
	section("Caveats", list(r.Caveats))
	section("Manifest", entryTable(r.Manifest).markdown())
	section("Settings", entryTable(r.Settings).markdown())
	return out.Bytes(), nil
}

//go:embed report.html.tmpl
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"numeric": func(t table, column int) bool { return t.Numeric[column] },
	"class":   verdictClass,
}).Parse(page))

func verdictClass(cell string) string {
	switch tuning.Verdict(cell) {
	case tuning.OK:
		return "ok"
	case tuning.Fail:
		return "fail"
	case tuning.Inconclusive:
		return "inconclusive"
	}
	return ""
}

// HTML is the report as one page that needs nothing beside it.
func (r *Report) HTML() ([]byte, error) {
	svg, err := r.inlineSVG(r.figures()[0])
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = pageTemplate.Execute(&out, map[string]any{
		"Report": r, "Headline": r.headline(), "When": r.when(), "Reasons": r.reasons(), "Goals": r.goals(),
		"Steps": r.stepTable(), "Queries": r.queryTable(), "Shares": r.shareTable(), "Calibrated": r.howCalibrated(), "Collected": r.howCollected(),
		"Manifest": entryTable(r.Manifest), "Settings": entryTable(r.Settings),
		"Timeline": template.HTML(svg), // our own drawing; its texts are escaped by the canvas
	})
	return out.Bytes(), err
}
