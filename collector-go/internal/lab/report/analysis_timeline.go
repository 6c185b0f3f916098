package report

import (
	"cmp"
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// OfTimeline shows a record's way through Bullet.
func OfTimeline(t *tuning.Timeline) *document.Document {
	d := &document.Document{Title: "A record's way through Bullet", Notes: t.Notes}
	d.Findings = append(d.Findings, fmt.Sprintf("%d of %d queries found their record.", t.Returned, t.Queries))
	for _, e := range []struct {
		name string
		tuning.Estimate
	}{{"Delay that Bullet adds", t.AddedDelay}, {"Time to find a record that we generate", t.FindTime}} {
		if e.Value.Known() || e.Note != "" {
			d.Findings = append(d.Findings, e.name+": "+e.Text(tuning.DefaultConfidence, "ms")+".")
		}
	}
	if len(t.Skews) > 0 {
		d.Findings = append(d.Findings,
			"Delays are as stamped: how far the clocks may be apart is stated below, and not taken out of them.")
	}
	if len(t.Hosts) > 0 {
		d.Findings = append(d.Findings, hostsFinding(t.Hosts))
	}
	d.Add("Delay of each stage relative to Query Received", document.Tabled(stageTable(t.Stages)))
	d.Add("How far a clock is ahead of another", document.Tabled(skewTable(t.Skews)))
	d.Add("How far each worker host's clock is ahead of the collector's, at least (negative: behind it by no more)",
		document.Tabled(hostTable(t.Hosts)))
	if len(t.Stages) > 0 {
		d.Figures = []chart.Figure{stageChart(t.Stages).Figure()}
	}
	return d
}

func stageTable(stages []tuning.Stage) document.Table {
	type stage = tuning.Stage
	return document.TableOf(stages,
		document.Text("Stage", func(s stage) string { return s.Name }),
		document.Text("Stamped by", func(s stage) string { return cmp.Or(s.Host, document.Unknown) }),
		wholeColumn("Records", func(s stage) int { return s.Count }),
		digitsColumn("Mean delay", "ms", func(s stage) Figure { return s.MeanMs }),
		digitsColumn("Standard deviation", "ms", func(s stage) Figure { return s.DeviationMs }),
		digitsColumn("Least", "ms", func(s stage) Figure { return s.LeastMs }),
		digitsColumn("Median", "ms", func(s stage) Figure { return s.MedianMs }),
		digitsColumn("p95", "ms", func(s stage) Figure { return s.P95Ms }),
		digitsColumn("Most", "ms", func(s stage) Figure { return s.MostMs }),
	)
}

func stageChart(stages []tuning.Stage) chart.Ranges {
	ranges := chart.Ranges{
		Name: "timeline-stages", Title: "A record's way through Bullet: mean, standard deviation (thick) and range " +
			"(thin) of each stage",
		XLabel: "ms relative to Query Received (negative: before it)", Unit: "ms",
	}
	for _, s := range stages {
		ranges.Rows = append(ranges.Rows, chart.Range{
			Name: s.Name, Text: tuning.Digits(s.MeanMs), Mean: float64(s.MeanMs), Deviation: float64(s.DeviationMs),
			Least: float64(s.LeastMs), Most: float64(s.MostMs),
		})
	}
	return ranges
}

func skewTable(skews []tuning.Skew) document.Table {
	type skew = tuning.Skew
	return document.TableOf(skews,
		document.Text("Clock", func(s skew) string { return clockText(s.To, s.ToClocks) }),
		document.Text("Ahead of", func(s skew) string { return clockText(s.From, s.FromClocks) }),
		digitsColumn("At least", "ms", func(s skew) Figure { return s.LeastMs }),
		digitsColumn("At most", "ms", func(s skew) Figure { return s.MostMs }),
		document.Text("Known by", func(s skew) string {
			if s.Empty() {
				return s.Method + "; no one skew fits all of them"
			}
			return s.Method
		}),
	)
}

// clockText is a clock's name, with how many hosts' clocks stand under it.
func clockText(name string, clocks int) string {
	if clocks < 2 {
		return name
	}
	return fmt.Sprintf("%s (%d hosts)", name, clocks)
}

// hostsFinding is on how many hosts the workers ran, and how far their clocks seem to be apart.
func hostsFinding(hosts []tuning.HostClock) string {
	if len(hosts) == 1 {
		if ahead := hosts[0].AheadMs; ahead > 0 {
			return fmt.Sprintf(
				"The workers ran on one host, whose clock is ahead of the collector's by at least %s ms.",
				tuning.Digits(ahead))
		}
		return fmt.Sprintf("The workers ran on one host, whose clock is no more than %s ms behind the collector's.",
			tuning.Digits(-hosts[0].AheadMs))
	}
	return fmt.Sprintf(
		"The workers ran on %d hosts, whose clocks seem to be up to %s ms apart, by the times of their freshest "+
			"samples: "+
			"no delay between two hosts is known better than that.",
		len(hosts),
		tuning.Digits(tuning.Apart(hosts)),
	)
}

func hostTable(hosts []tuning.HostClock) document.Table {
	type host = tuning.HostClock
	return document.TableOf(hosts,
		document.Text("Host", func(h host) string { return h.Host }),
		wholeColumn("Workers", func(h host) int { return h.Workers }),
		wholeColumn("Readings", func(h host) int { return h.Readings }),
		digitsColumn("Ahead by at least", "ms", func(h host) Figure { return h.AheadMs }),
		digitsColumn("Mean reading", "ms", func(h host) Figure { return h.MeanMs }),
		digitsColumn("Standard deviation", "ms", func(h host) Figure { return h.DeviationMs }),
		digitsColumn("Lowest reading", "ms", func(h host) Figure { return h.LowestMs }),
	)
}
