package report

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Write writes report.json, report.md, report.html and the figures into dir.
func (r *Report) Write(dir string) error {
	if err := r.WriteFigures(filepath.Join(dir, figuresDir)); err != nil {
		return err
	}
	data, err := r.JSON()
	if err != nil {
		return fmt.Errorf("make report.json: %w", err)
	}
	html, err := r.HTML()
	if err != nil {
		return fmt.Errorf("make report.html: %w", err)
	}
	return writeFiles(dir, map[string][]byte{"report.json": data, "report.md": r.Markdown(), "report.html": html})
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
			out = append(out, fmt.Sprintf("%s (%s): %s.", stepName(s), s.Verdict, reason))
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
	text := fmt.Sprintf("Stored slices of %d s; %d of %d expected worker slices are missing; the collector was restarted %d times.",
		c.StoredSliceMs/1000, c.MissingSlices, c.ExpectedSlices, c.CollectorRestarts)
	if c.Relaunches > 0 {
		text += fmt.Sprintf(" The topology was launched again %s: %s between launches, in which none are expected.", timesText(c.Relaunches), c.betweenLaunches())
	}
	return text
}

func (r *Report) when() string {
	return time.UnixMilli(r.StartedMs).UTC().Format("2006-01-02 15:04:05 UTC")
}

// Markdown is the report as text.
func (r *Report) Markdown() []byte { return r.page().Markdown() }

// HTML is the report as one page that needs nothing beside it.
func (r *Report) HTML() ([]byte, error) { return r.page().HTML() }

// page is the report of a run on its own, as the demo writes it.
func (r *Report) page() *page {
	p := &page{title: r.Title, verdict: r.Verdict, lead: fmt.Sprintf("%s Topology %s, first step at %s.", r.headline(), r.Topology, r.when())}
	p.add("Steps", tabled(r.stepTable()), list(append(r.reasons(), r.doubts()...)), tabled(r.evidenceTable()))
	p.add("Collection", append(wholeBlocks(r.Collection.Health), paragraph("%s", r.howCollected()))...)
	p.add("Goals", list(r.goals()))
	p.add("Over time", append([]block{drawn(r.drawing(r.figures()[0])), heading4("Annotations on this axis")}, r.markBlocks()...)...)
	p.add("Queries", verbatim(r.Query), tabled(r.queryTable()))
	p.add("Share of the host's processors", paragraph("%s", r.howCalibrated()), tabled(r.shareTable()))
	p.add("Who shares what", r.sharingBlocks()...)
	p.add("Garbage collection", r.gcBlocks()...)
	p.add("What the topology asks of the scheduler", r.askedBlocks(r.machine())...)
	p.add("Caveats", list(r.Caveats))
	p.add("What ran", tabled(entryTable(r.Manifest)))
	p.addCollected("What was collected, by worker and metric", r.Collection.Health)
	p.add("Settings as they were", tabled(entryTable(r.Settings))).folded = true
	return p
}
