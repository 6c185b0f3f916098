package examine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// topology is what /api/v1/topologies/{name} answers, as far as it is read (docs/topologies.md). It is decoded here and
// not shared with the API, because doctor also asks collectors of other versions: a field that is missing is zero.
type topology struct {
	ID        string    `json:"id"`
	Submitted string    `json:"submitted"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
	Alive     bool      `json:"alive"`
	Condition struct {
		State string    `json:"state"`
		Since time.Time `json:"since"`
		By    string    `json:"by"`
	} `json:"condition"`
	ClockAhead float64 `json:"clock_ahead_seconds"`
	Workers    []struct {
		Worker string `json:"worker"`
		Clock  *struct {
			Ahead float64  `json:"ahead_seconds"`
			Least float64  `json:"least_seconds"`
			Most  *float64 `json:"most_seconds"`
		} `json:"clock"`
	} `json:"workers"`
	Versions struct {
		Storm string `json:"storm"`
	} `json:"versions"`
	WorkerCount int `json:"worker_count"`
	Components  []struct {
		Parallelism int `json:"parallelism"`
	} `json:"components"`
	Settings map[string]string `json:"settings"`
}

// Collector asks a running collector about a topology; where name is empty, about the only one there is. What goes
// wrong is in its Err. Ages are by this machine's clock, so that they are only as good as that.
func Collector(ctx context.Context, asked *client.Client, name string, now time.Time) *doctor.Collector {
	c := &doctor.Collector{Address: asked.Address(), Topology: name, Now: now, Skews: map[string]doctor.Skew{},
		Seen: map[doctor.Kind]doctor.Sight{}}
	c.Err = caller{asked}.ask(ctx, c)
	return c
}

// caller asks one collector. Each of its methods fills in one kind of fact.
type caller struct{ client *client.Client }

// ask asks for everything in turn. What older collectors do not answer is left empty; only facts that every collector
// has are errors where they are missing. Without the topology it ends early, since the rest is about it.
func (a caller) ask(ctx context.Context, c *doctor.Collector) error {
	var all []struct {
		Name string `json:"name"`
	}
	if err := a.client.Get(ctx, "/api/v1/topologies", &all); err != nil {
		return err
	}
	for _, t := range all {
		c.Known = append(c.Known, t.Name)
	}
	if c.Topology == "" && len(c.Known) == 1 {
		c.Topology = c.Known[0]
	}
	a.slices(ctx, c)
	a.refused(ctx, c)
	if !slices.Contains(c.Known, c.Topology) {
		return nil
	}
	var t topology
	if err := a.client.Get(ctx, "/api/v1/topologies/"+url.PathEscape(c.Topology), &t); err != nil {
		return err
	}
	c.Found = t.facts()
	a.notStored(ctx, c)
	return errors.Join(a.skews(ctx, c, &t), a.refusals(ctx, c), a.restarts(ctx, c), a.sights(ctx, c),
		a.unreached(ctx, c))
}

// notStored asks which metrics are not stored, and keeps how many more there are than the answer lists. A collector of
// before December 2026 does not report it, and one that collected nothing just now has no answer. Neither is an error.
func (a caller) notStored(ctx context.Context, c *doctor.Collector) {
	var whole struct {
		NotStored     []catalog.NotStored `json:"not_stored"`
		NotStoredMore int                 `json:"not_stored_more"`
	}
	until := c.Now.Add(c.Ahead())
	asked := url.Values{"start": {until.Add(-doctor.Lookback).Format(time.RFC3339)}, "end": {until.Format(time.RFC3339)}}
	if a.client.Get(ctx, "/api/v1/collection/"+url.PathEscape(c.Topology)+"?"+asked.Encode(), &whole) == nil {
		c.NotStored, c.NotStoredMore = whole.NotStored, whole.NotStoredMore
	}
}

// slices asks how wide slices are and how long they wait. A collector of before November 2026 does not report it; the
// checks then do not wait for the first slices.
func (a caller) slices(ctx context.Context, c *doctor.Collector) {
	var flags map[string]string
	if a.client.Get(ctx, "/api/v1/status/flags", &flags) == nil {
		c.Width, c.Lateness = length(flags["slice.width"]), length(flags["slice.lateness"])
	}
}

// length reads a duration in Prometheus' notation; 0 where there is none.
func length(text string) time.Duration {
	d, err := model.ParseDuration(text)
	if err != nil {
		return 0
	}
	return time.Duration(d)
}

// refused asks whom the gRPC port turned away: the collector keeps its own figures, one a quarter of a minute. It is a
// hint, and no answer to it is no error.
func (a caller) refused(ctx context.Context, c *doctor.Collector) {
	found, err := a.client.Vector(ctx,
		fmt.Sprintf("sum by (reason) (increase(bullet_metrics_refused_total{port=\"grpc\"}[%s])) > 0",
			model.Duration(doctor.Lookback)), c.Now)
	if err != nil {
		return
	}
	c.Refused = map[string]int{}
	for _, sample := range found {
		c.Refused[string(sample.Metric["reason"])] = int(math.Ceil(float64(sample.Value)))
	}
}

// annotation is one of the collector's, as far as it is read: what happened, and when.
type annotation struct {
	Title   string    `json:"title"`
	Time    time.Time `json:"time"`
	EndTime time.Time `json:"end_time"`
	Text    string    `json:"text"`
}

// worker is the one that a restart's annotation is about; false for other annotations.
func (a annotation) worker() (worker string, is bool) {
	if worker, is = strings.CutPrefix(a.Title, "Worker "); is {
		worker, is = strings.CutSuffix(worker, " restarted")
	}
	return worker, is
}

// unreached asks for what the plugin reported last of a time without a collector, within a day. It explains a gap that
// is over.
func (a caller) unreached(ctx context.Context, c *doctor.Collector) error {
	var all []annotation
	asked := url.Values{"topology": {c.Topology}, "tag": {"plugin", plugininfo.UnreachedTag},
		"start": {c.Now.Add(-24 * time.Hour).Format(time.RFC3339)}, "end": {c.Now.Format(time.RFC3339)}}
	if err := a.client.Get(ctx, "/api/v1/annotations?"+asked.Encode(), &all); err != nil {
		return err
	}
	if len(all) > 0 {
		newest := slices.MaxFunc(all, func(x, y annotation) int { return x.Time.Compare(y.Time) })
		c.Unreached = fmt.Sprintf("%s to %s, %s", newest.Time.UTC().Format(time.TimeOnly),
			newest.EndTime.UTC().Format(time.TimeOnly), newest.Text)
	}
	return nil
}

// facts are the answer in the terms of the checks. Executors are the sum over all components. A state that is neither
// killed nor stopped is no end: the topology may be silent for another reason, which the checks look for.
func (t topology) facts() *doctor.Topology {
	found := &doctor.Topology{ID: t.ID, FirstSeen: t.FirstSeen, LastSeen: t.LastSeen, Alive: t.Alive,
		ClockAhead: time.Duration(t.ClockAhead * float64(time.Second)),
		Storm:      t.Versions.Storm,
		Workers:    t.WorkerCount, Settings: t.Settings}
	found.Submitted, _ = time.Parse(time.RFC3339, t.Submitted) // zero where Storm's id does not say
	if t.Condition.State == "killed" || t.Condition.State == "stopped" {
		found.Ended, found.EndedAt, found.EndedBy = t.Condition.State, t.Condition.Since, t.Condition.By
	}
	for _, component := range t.Components {
		found.Executors += component.Parallelism
	}
	return found
}

// sights asks when the newest slice of each kind ended. A range is asked for, since only its samples keep their own
// times. Where the topology's clock is far off, it is asked at the topology's own time.
func (a caller) sights(ctx context.Context, c *doctor.Collector) error {
	for _, kind := range doctor.Kinds {
		selector := fmt.Sprintf("{__name__=~%q, topology=%q}", strings.Join(kind.Metrics, "|"), c.Topology)
		until := c.Now.Add(c.Ahead())
		found, err := a.client.Slices(ctx, selector, until.Add(-doctor.Lookback), until)
		if err != nil {
			return err
		}
		workers := map[model.LabelValue]bool{}
		var newest model.Time
		for _, series := range found {
			if n := len(series.Values); n > 0 {
				newest = max(newest, series.Values[n-1].Timestamp)
			}
			if n := len(series.Histograms); n > 0 {
				newest = max(newest, series.Histograms[n-1].Timestamp)
			}
			workers[series.Metric["worker"]] = true
		}
		if len(workers) > 0 {
			c.Seen[kind.Kind] = doctor.Sight{Newest: newest.Time(), Workers: len(workers)}
		}
	}
	return nil
}

// restarts asks which workers were started again, and how often. Those of a topology that was submitted again are no
// restarts, though they start where its workers were: its own time counts. The counter of the slices and the registry's
// annotations are joined, since each may know a restart that the other does not.
func (a caller) restarts(ctx context.Context, c *doctor.Collector) error {
	since := doctor.Lookback
	if !c.Found.Submitted.IsZero() {
		since = max(time.Second, min(since, c.Now.Sub(c.Found.Submitted).Truncate(time.Second)))
	}
	of := fmt.Sprintf("bullet_worker_restarts_total{topology=%q}[%s]", c.Topology, model.Duration(since))
	found, err := a.client.Vector(ctx, fmt.Sprintf("max by (worker) (max_over_time(%s)) - min by (worker) (min_over_time(%[1]s)) > 0",
		of), c.Now)
	if err != nil {
		return err
	}
	c.Restarts = map[string]int{}
	for _, sample := range found {
		c.Restarts[string(sample.Metric["worker"])] = int(sample.Value)
	}
	return a.annotatedRestarts(ctx, c, since)
}

// annotatedRestarts asks for those that the registry knows: at once, where a slice takes its time to close, and
// whatever the workers' clocks say. Of both counts the larger is kept, since a restart may be in either.
func (a caller) annotatedRestarts(ctx context.Context, c *doctor.Collector, since time.Duration) error {
	var all []annotation
	asked := url.Values{"topology": {c.Topology}, "tag": {"restart"},
		"start": {c.Now.Add(-since).Format(time.RFC3339)}, "end": {c.Now.Format(time.RFC3339)}}
	if err := a.client.Get(ctx, "/api/v1/annotations?"+asked.Encode(), &all); err != nil {
		return err
	}
	known := map[string]int{}
	for _, restart := range all {
		if worker, is := restart.worker(); is {
			known[worker]++
			c.RestartedAt = latest(c.RestartedAt, restart.Time)
		}
	}
	for worker, n := range known {
		c.Restarts[worker] = max(c.Restarts[worker], n)
	}
	return nil
}

// latest is the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// refusals asks for the samples that were refused beside another of their time, and for clocks that were set back. Both
// are read over Lookback, so that a mishap of yesterday is no finding.
func (a caller) refusals(ctx context.Context, c *doctor.Collector) error {
	for reason, of := range map[string]*map[string]int{"repeated_time": &c.SetBack, "duplicate": &c.Twice} {
		series := fmt.Sprintf("%s{topology=%q,reason=%q}[%s]", catalog.CollectionWorkerRefused, c.Topology, reason,
			model.Duration(doctor.Lookback))
		found, err := a.client.Vector(ctx, fmt.Sprintf(
			"max by (worker) (max_over_time(%s)) - min by (worker) (min_over_time(%[1]s)) > 0", series),
			c.Now.Add(c.Ahead()))
		if err != nil {
			return err
		}
		*of = map[string]int{}
		for _, sample := range found {
			(*of)[string(sample.Metric["worker"])] = int(sample.Value)
		}
	}
	found, err := a.client.Vector(ctx, fmt.Sprintf(
		"max by (worker) (max_over_time(bullet_metrics_worker_clock_set_back_seconds{topology=%q}[%s]))", c.Topology,
		model.Duration(doctor.Lookback)), c.Now)
	c.SetBackBy = map[string]time.Duration{}
	for _, sample := range found {
		c.SetBackBy[string(sample.Metric["worker"])] = time.Duration(float64(sample.Value) * float64(time.Second))
	}
	return err
}

// skews asks how far the workers' clocks are off: as the registry knows it now, or else the newest that a slice has,
// since these are written each 30 s of a worker's time, at that time. What the registry knows replaces what a slice
// has. Without an upper bound a clock may be ahead by any time.
func (a caller) skews(ctx context.Context, c *doctor.Collector, t *topology) error {
	for name, set := range map[string]func(s *doctor.Skew, v float64){
		catalog.CollectionSkew:      func(s *doctor.Skew, v float64) { s.Sure = v },
		catalog.CollectionSkewLeast: func(s *doctor.Skew, v float64) { s.Least = v },
		catalog.CollectionSkewMost:  func(s *doctor.Skew, v float64) { s.Most = v },
	} {
		found, err := a.client.Vector(ctx, fmt.Sprintf("last_over_time(%s{topology=%q}[%s])", name, c.Topology,
			model.Duration(doctor.Lookback)), c.Now.Add(c.Ahead()))
		if err != nil {
			return err
		}
		for _, sample := range found {
			worker := string(sample.Metric["worker"])
			skew, known := c.Skews[worker]
			if !known {
				skew.Most = math.Inf(1)
			}
			set(&skew, float64(sample.Value))
			c.Skews[worker] = skew
		}
	}
	for _, w := range t.Workers {
		if w.Clock == nil {
			continue
		}
		skew := doctor.Skew{Sure: w.Clock.Ahead, Least: w.Clock.Least, Most: math.Inf(1)}
		if w.Clock.Most != nil {
			skew.Most = *w.Clock.Most
		}
		c.Skews[w.Worker] = skew
	}
	return nil
}
