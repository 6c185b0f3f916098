package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Write writes report.html, report.md, report.json, the figures and the run's tables as CSV into dir.
func (r *RunReport) Write(dir string) error {
	p := r.page()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeDrawings(append(p.drawings(), r.panelDrawings()...), filepath.Join(dir, figuresDir)); err != nil {
		return err
	}
	data, err := r.JSON()
	if err != nil {
		return fmt.Errorf("make report.json: %w", err)
	}
	html, err := p.HTML()
	if err != nil {
		return fmt.Errorf("make report.html: %w", err)
	}
	files := map[string][]byte{"report.json": data, "report.md": p.Markdown(), "report.html": html}
	for name, text := range r.tables() {
		files[name] = text
	}
	return writeFiles(dir, files)
}

// JSON is the report as data; what is not known is null.
func (r *RunReport) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	return append(text, '\n'), err
}

// page puts what a reader wants first on the first page: the verdict, what limited it, one figure, whether the figures can be
// believed.
func (r *RunReport) page() *page {
	p := &page{title: r.Title, verdict: r.Verdict, lead: r.lead()}
	analyses := r.analyses()
	p.add("Verdict", append([]block{tabled(r.withVolumes(r.rowTable()))}, list(r.troubles()))...)
	if main := mainChart(analyses); main != nil {
		p.add("At a glance", drawn(main.drawing()))
	} else if t := r.firstMeasured(); t != nil {
		p.add("At a glance", drawn(r.trialDrawing(t)))
	}
	p.add("Can these figures be believed?", r.beliefBlocks()...)
	for _, a := range analyses {
		p.add(a.Title, withoutChart(a, mainChart(analyses)).blocks()...)
	}
	p.add("Repeats", r.repeatBlocks()...)
	p.add("Recommended", r.recommendation()...)
	p.add("Sizing", r.sizingBlocks()...)
	p.add("Goals", list(r.goals()), paragraph("%s", r.steps()), paragraph("Load: %s.", r.Load))
	p.add("Caveats", list(r.Caveats))
	p.add("The trials one after the other", r.successionBlocks()...)
	p.add("What differs between the configurations", r.differenceBlocks()...)
	for i := range r.Trials {
		r.addTrial(p, &r.Trials[i], i == 0 && len(r.Trials) == 1)
	}
	p.add("What ran", tabled(r.manifestTable()))
	p.add("Bullet's settings as they were, before each trial's own", tabled(entriesOf(r.Manifest.BulletSettings))).folded = true
	return p
}

// lead is the run in a sentence or two.
func (r *RunReport) lead() string {
	done := 0
	for _, t := range r.Trials {
		if t.State == rundir.Finished {
			done++
		}
	}
	text := fmt.Sprintf("Experiment %s, begun at %s: %d of %d trials finished.", r.Experiment, r.when(), done, len(r.Trials))
	if !r.Finished {
		text = strings.TrimSuffix(text, ".") + ", and the run has not ended: go on with bullet-metrics tune run --resume."
	}
	return strings.TrimSpace(strings.Join(strings.Fields(r.About), " ") + " " + text)
}

func (r *RunReport) steps() string {
	text := fmt.Sprintf("Each step is measured for %s after a warm-up of %s that counts for nothing; steps are searched by %q, over %s.",
		lasting(r.plan.SustainMs), lasting(r.plan.WarmUpMs), r.plan.Search, r.axis())
	if f := r.plan.Load.CatchUpFactor; f.Known() {
		text += fmt.Sprintf(" After it %s times its records are offered for %s.", tuning.Digits(f), lasting(r.plan.Load.CatchUpMs))
	}
	return text
}

// lasting writes a time without the zeros behind: "5m", "1m30s".
func lasting(ms int64) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	if short, found := strings.CutSuffix(text, "m0s"); found {
		text = short + "m"
	}
	if short, found := strings.CutSuffix(text, "h0m"); found {
		text = short + "h"
	}
	return text
}

func (r *RunReport) goals() (out []string) {
	for _, g := range r.Goals {
		text := g.String()
		out = append(out, strings.ToUpper(text[:1])+text[1:]+".")
	}
	if hostOfClient(r.plan) {
		return out
	}
	return append(out, fmt.Sprintf("At least %s of the host idle; below that a step is inconclusive unless its limit is shown to be the topology.", percent(r.plan.MinHostIdle)))
}

// shortNote is how long a note may be to stand in the place of a capacity.
const shortNote = 24

// intervalText is a capacity, "[40, 80)".
func intervalText(i tuning.Interval) string {
	text := func(v *float64) string { return tuning.Digits(Figure(*v)) }
	switch {
	case i.LastOK == nil && i.FirstFail == nil && len(i.Note) <= shortNote:
		return cmp.Or(i.Note, "unknown")
	case i.LastOK == nil && i.FirstFail == nil:
		return "unknown"
	case i.FirstFail == nil:
		return "at least " + text(i.LastOK)
	case i.LastOK == nil:
		return "below " + text(i.FirstFail)
	}
	return fmt.Sprintf("[%s, %s)", text(i.LastOK), text(i.FirstFail))
}

// mostTroubles bounds what the first page lists; the trials list all.
const mostTroubles = 8

// troubles are the steps that were not OK, with what limited them, and the trials that could not be measured.
func (r *RunReport) troubles() []string {
	var all []string
	for _, t := range r.Trials {
		if t.Error != "" {
			all = append(all, fmt.Sprintf("%s could not be measured: %s.", t.name(), strings.TrimSuffix(t.Error, ".")))
		}
		starved, rest := t.starved()
		all = append(all, starved...)
		for _, s := range rest {
			if s.Verdict != tuning.OK {
				all = append(all, fmt.Sprintf("%s, %s (%s): %s.", t.name(), s.Name, s.Verdict, strings.TrimSuffix(strings.Join(s.why(), "; "), ".")))
			}
		}
	}
	if more := len(all) - mostTroubles; more > 0 {
		all = append(all[:mostTroubles], fmt.Sprintf("%d more; each trial below lists its own.", more))
	}
	return append(all, r.Notes...)
}

// starved puts the steps that a busy host left without a verdict into one sentence, and gives the others.
func (t TrialReport) starved() (sentences []string, rest []TrialStep) {
	var names []string
	least := TrialStep{}
	for _, s := range t.lastAttempts() {
		if s.Verdict != tuning.Inconclusive || s.Limitation == nil || !s.Limitation.Known() || s.Limitation.Limiters[0] != tuning.LimitedByHost {
			rest = append(rest, s)
			continue
		}
		name, _, _ := strings.Cut(s.Name, ", ")
		names = append(names, name)
		if len(names) == 1 || s.HostIdle < least.HostIdle {
			least = s
		}
	}
	if len(names) > 0 {
		sentences = append(sentences, fmt.Sprintf("%s (inconclusive at %s): the figures are the host's and not the topology's; at its busiest %s.", t.name(),
			strings.Join(names, ", "), saysOf(least.Limitation, tuning.LimitedByHost)))
	}
	return sentences, rest
}

// saysOf is the finding about a limiter.
func saysOf(l *tuning.Limitation, limiter tuning.Limiter) string {
	for _, f := range l.Findings {
		if f.Limiter == limiter {
			return f.Says
		}
	}
	return l.Text
}

// lastAttempts leaves out steps that were measured again.
func (t TrialReport) lastAttempts() (last []TrialStep) {
	for i, s := range t.Steps {
		again := slices.ContainsFunc(t.Steps[i+1:], func(later TrialStep) bool { return later.Kind == s.Kind && later.Value == s.Value })
		if !again {
			last = append(last, s)
		}
	}
	return last
}

// why are a step's reasons, and what limited it unless they say so already.
func (s TrialStep) why() []string {
	why := append([]string{}, s.Reasons...)
	if s.Limitation == nil && s.Verdict != tuning.Inconclusive {
		why = append(why, "what limited it cannot be told: no evidence was gathered")
	}
	if s.Limitation != nil && !strings.Contains(strings.Join(why, "; "), s.Limitation.Text) {
		why = append(why, s.Limitation.Text)
	}
	return why
}

// differenceBlocks are the settings that the configurations do not share.
func (r *RunReport) differenceBlocks() []block {
	if len(r.Rows) < 2 {
		return nil
	}
	var keys []string
	values := map[string]map[string]string{}
	for _, t := range r.Trials {
		values[t.Label] = map[string]string{}
		for _, e := range t.Settings {
			if _, seen := values[t.Label][e.Key]; !seen && !slices.Contains(keys, e.Key) {
				keys = append(keys, e.Key)
			}
			values[t.Label][e.Key] = e.Value
		}
	}
	t := table{Heads: []string{"Setting"}, Numeric: []bool{false}}
	for _, row := range r.Rows {
		t.Heads, t.Numeric = append(t.Heads, row.Label), append(t.Numeric, false)
	}
	for _, key := range keys {
		line, distinct := []string{key}, map[string]bool{}
		for _, row := range r.Rows {
			line = append(line, cmp.Or(values[row.Label][key], "–"))
			distinct[values[row.Label][key]] = true
		}
		if len(distinct) > 1 {
			t.Rows = append(t.Rows, line)
		}
	}
	t.Rows = append(t.Rows, r.effectiveRows()...)
	return []block{tabled(t)}
}

// addTrial is all that there is of one launch, folded away unless it is the only one.
func (r *RunReport) addTrial(p *page, t *TrialReport, open bool) {
	title := fmt.Sprintf("Trial %d: %s", t.Number, t.name())
	if t.Report == nil {
		p.add(title, paragraph("%s%s.", t.State, sentence(t.Error)))
		return
	}
	blocks := []block{tabled(t.Report.stepTable()), list(append(t.Report.reasons(), t.Report.doubts()...)), heading4("What the steps ran against"), tabled(t.Report.evidenceTable()),
		drawn(r.trialDrawing(t)), paragraph("Each figure alone: %s.", t.panelNames())}
	blocks = append(append(blocks, heading4("Annotations on this axis")), t.Report.markBlocks()...)
	blocks = append(blocks, heading4("Queries"), verbatim(t.Report.Query), tabled(t.Report.queryTable()), heading4("Share of the "+r.host()+"'s processors"), tabled(t.Report.shareTable()))
	if shared := t.Report.sharingBlocks(); len(shared) > 0 {
		blocks = append(append(blocks, heading4("Who shares what")), shared...)
	}
	if gc := t.Report.gcBlocks(); len(gc) > 0 {
		blocks = append(append(blocks, heading4("Garbage collection")), gc...)
	}
	if asked := t.Report.askedBlocks(r.machine()); len(asked) > 0 {
		blocks = append(append(blocks, heading4("What the topology asks of the scheduler")), asked...)
	}
	p.add(title, append(blocks, t.launchBlocks()...)...).folded = !open
}

// trialDrawing is the trial's figure over time, under a name of its own.
func (r *RunReport) trialDrawing(t *TrialReport) drawing {
	d := t.Report.drawing(t.Report.figures()[0])
	d.name = t.figureName(timeline)
	d.alt = fmt.Sprintf("Trial %d, %s: all figures over one time axis", t.Number, t.name())
	return d
}

func (t *TrialReport) figureName(name string) string {
	return fmt.Sprintf("trial-%02d-%s", t.Number, name)
}

// panelDrawings are each trial's figures one by one, which the page has together.
func (r *RunReport) panelDrawings() (all []*drawing) {
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Report == nil {
			continue
		}
		for _, f := range t.Report.figures()[1:] {
			d := t.Report.drawing(f)
			d.name = t.figureName(f.name)
			all = append(all, &d)
		}
	}
	return all
}

// panelNames are the files of those figures.
func (t *TrialReport) panelNames() string {
	var names []string
	for _, f := range t.Report.figures()[1:] {
		names = append(names, fmt.Sprintf("%s/%s.svg", figuresDir, t.figureName(f.name)))
	}
	return strings.Join(names, ", ") + ", and .png beside each"
}

func (r *RunReport) firstMeasured() *TrialReport {
	for i := range r.Trials {
		if r.Trials[i].Report != nil {
			return &r.Trials[i]
		}
	}
	return nil
}

func entriesOf(entries []rundir.Entry) table {
	t := table{Heads: []string{"Setting", "Value"}, Numeric: []bool{false, false}}
	for _, e := range entries {
		t.Rows = append(t.Rows, []string{e.Key, e.Value})
	}
	return t
}
