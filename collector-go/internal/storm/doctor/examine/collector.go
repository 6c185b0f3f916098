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

// topology is the part of the answer of /api/v1/topologies/{name} that doctor uses (docs/topologies.md). It is not
// shared with the API, because doctor also queries collectors of other versions: a missing field is zero.
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

// Collector queries a running collector about a topology. If name is empty and the collector knows exactly one
// topology, it is that one. An error is stored in Err. Ages are computed with this machine's clock, and are only as
// accurate as that.
func Collector(ctx context.Context, asked *client.Client, name string, now time.Time) *doctor.Collector {
	c := &doctor.Collector{Address: asked.Address(), Topology: name, Now: now, Skews: map[string]doctor.Skew{},
		Slices: map[doctor.Kind]doctor.NewestSlice{}}
	c.Err = caller{asked}.ask(ctx, c)
	return c
}

// caller queries one collector. Each of its methods collects one kind of fact.
type caller struct{ client *client.Client }

// ask collects all facts. Facts that older collectors do not provide stay empty. Only facts that every collector has
// cause an error if they are missing. If the collector does not know the topology, ask ends early, because all other
// facts are about the topology.
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
	return errors.Join(a.skews(ctx, c, &t), a.refusals(ctx, c), a.restarts(ctx, c), a.newestSlices(ctx, c),
		a.unreached(ctx, c))
}

// notStored queries which metrics are not stored. A collector of before December 2026 does not report them, and one
// without recent data has no answer. Neither is an error.
func (a caller) notStored(ctx context.Context, c *doctor.Collector) {
	var answer struct {
		NotStored     []catalog.NotStored `json:"not_stored"`
		NotStoredMore int                 `json:"not_stored_more"`
	}
	until := c.Now.Add(c.Ahead())
	query := url.Values{"start": {until.Add(-doctor.Lookback).Format(time.RFC3339)}, "end": {until.Format(time.RFC3339)}}
	if a.client.Get(ctx, "/api/v1/collection/"+url.PathEscape(c.Topology)+"?"+query.Encode(), &answer) == nil {
		c.NotStored, c.NotStoredMore = answer.NotStored, answer.NotStoredMore
	}
}

// slices queries the width and lateness of slices. A collector of before November 2026 does not report them; then the
// checks do not wait for the first slices.
func (a caller) slices(ctx context.Context, c *doctor.Collector) {
	var flags map[string]string
	if a.client.Get(ctx, "/api/v1/status/flags", &flags) == nil {
		c.Width, c.Lateness = length(flags["slice.width"]), length(flags["slice.lateness"])
	}
}

// length parses a duration in Prometheus' notation. It returns 0 if the text is invalid.
func length(text string) time.Duration {
	d, err := model.ParseDuration(text)
	if err != nil {
		return 0
	}
	return time.Duration(d)
}

// refused queries how many connections the gRPC port refused. The collector stores this metric about itself every 15
// s. The result is only a hint, so that an error is ignored.
func (a caller) refused(ctx context.Context, c *doctor.Collector) {
	found, err := a.values(ctx, "reason", fmt.Sprintf(
		"sum by (reason) (increase(bullet_metrics_refused_total{port=\"grpc\"}[%s])) > 0", lookback), c.Now)
	if err != nil {
		return
	}
	c.Refused = map[string]int{}
	for reason, n := range found {
		c.Refused[reason] = int(math.Ceil(n))
	}
}

// lookback is doctor.Lookback in PromQL.
var lookback = model.Duration(doctor.Lookback).String()

// values returns the result of a query by the value of a label.
func (a caller) values(ctx context.Context, label model.LabelName, query string, at time.Time) (map[string]float64,
	error) {
	found, err := a.client.Vector(ctx, query, at)
	values := map[string]float64{}
	for _, sample := range found {
		values[string(sample.Metric[label])] = float64(sample.Value)
	}
	return values, err
}

// increases returns by how much a counter of each worker increased; workers without an increase are absent.
func (a caller) increases(ctx context.Context, counter string, at time.Time) (map[string]int, error) {
	found, err := a.values(ctx, "worker", fmt.Sprintf(
		"max by (worker) (max_over_time(%s)) - min by (worker) (min_over_time(%[1]s)) > 0", counter), at)
	increases := map[string]int{}
	for worker, n := range found {
		increases[worker] = int(n)
	}
	return increases, err
}

// annotation is the part of an annotation that doctor uses.
type annotation struct {
	Title   string    `json:"title"`
	Time    time.Time `json:"time"`
	EndTime time.Time `json:"end_time"`
	Text    string    `json:"text"`
}

// worker returns the worker of a restart annotation. is is false for other annotations.
func (a annotation) worker() (worker string, is bool) {
	if worker, is = strings.CutPrefix(a.Title, "Worker "); is {
		worker, is = strings.CutSuffix(worker, " restarted")
	}
	return worker, is
}

// annotations returns the topology's annotations since a time that have all the tags.
func (a caller) annotations(ctx context.Context, c *doctor.Collector, since time.Duration, tags ...string) (
	all []annotation, err error) {
	query := url.Values{"topology": {c.Topology}, "tag": tags,
		"start": {c.Now.Add(-since).Format(time.RFC3339)}, "end": {c.Now.Format(time.RFC3339)}}
	return all, a.client.Get(ctx, "/api/v1/annotations?"+query.Encode(), &all)
}

// unreached queries the plugin's newest report about an interval without a collector, within a day. It explains a gap
// in the past.
func (a caller) unreached(ctx context.Context, c *doctor.Collector) error {
	all, err := a.annotations(ctx, c, 24*time.Hour, "plugin", plugininfo.UnreachedTag)
	if err == nil && len(all) > 0 {
		newest := slices.MaxFunc(all, func(x, y annotation) int { return x.Time.Compare(y.Time) })
		c.Unreached = fmt.Sprintf("%s to %s, %s", newest.Time.UTC().Format(time.TimeOnly),
			newest.EndTime.UTC().Format(time.TimeOnly), newest.Text)
	}
	return err
}

// facts converts the answer to the types of the checks. Executors are summed over all components. Only the states
// killed and stopped count as an end. In other states the topology may be silent for another reason, which the checks
// look for.
func (t topology) facts() *doctor.Topology {
	found := &doctor.Topology{ID: t.ID, FirstSeen: t.FirstSeen, LastSeen: t.LastSeen, Alive: t.Alive,
		ClockAhead: time.Duration(t.ClockAhead * float64(time.Second)), Storm: t.Versions.Storm, Workers: t.WorkerCount,
		Settings: t.Settings}
	found.Submitted, _ = time.Parse(time.RFC3339, t.Submitted) // zero if Storm's topology id does not contain it
	if t.Condition.State == "killed" || t.Condition.State == "stopped" {
		found.Ended, found.EndedAt, found.EndedBy = t.Condition.State, t.Condition.Since, t.Condition.By
	}
	for _, component := range t.Components {
		found.Executors += component.Parallelism
	}
	return found
}

// newestSlices queries the end of the newest slice of each kind. It queries a range, because only the samples of a
// range have their own times. If the topology's clock is far off, the range is in the topology's own time.
func (a caller) newestSlices(ctx context.Context, c *doctor.Collector) error {
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
			c.Slices[kind.Kind] = doctor.NewestSlice{Newest: newest.Time(), Workers: len(workers)}
		}
	}
	return nil
}

// restarts queries how often each worker restarted. It reads only the time since the topology was submitted. Workers
// of a new submission may use the places of the old ones, and they are not restarts. It combines the counter in the
// slices with the registry's annotations, because each may miss a restart that the other has.
func (a caller) restarts(ctx context.Context, c *doctor.Collector) (err error) {
	since := doctor.Lookback
	if !c.Found.Submitted.IsZero() {
		since = max(time.Second, min(since, c.Now.Sub(c.Found.Submitted).Truncate(time.Second)))
	}
	c.Restarts, err = a.increases(ctx, fmt.Sprintf("bullet_worker_restarts_total{topology=%q}[%s]", c.Topology,
		model.Duration(since)), c.Now)
	if err != nil {
		return err
	}
	return a.annotatedRestarts(ctx, c, since)
}

// annotatedRestarts adds the restarts that the registry knows. The registry knows them at once, while a slice is
// complete only later, and it does not depend on the workers' clocks. For each worker the larger of both counts is
// used.
func (a caller) annotatedRestarts(ctx context.Context, c *doctor.Collector, since time.Duration) error {
	all, err := a.annotations(ctx, c, since, "restart")
	known := map[string]int{}
	for _, restart := range all {
		worker, is := restart.worker()
		if !is {
			continue
		}
		known[worker]++
		c.Restarts[worker] = max(c.Restarts[worker], known[worker])
		if restart.Time.After(c.RestartedAt) {
			c.RestartedAt = restart.Time
		}
	}
	return err
}

// refusals queries refused samples with duplicate times, and clocks that were set back. Both are limited to Lookback,
// so that an old problem is not reported.
func (a caller) refusals(ctx context.Context, c *doctor.Collector) error {
	rejected := func(reason string) (map[string]int, error) {
		return a.increases(ctx, fmt.Sprintf("%s{topology=%q,reason=%q}[%s]", catalog.CollectionWorkerRefused, c.Topology,
			reason, lookback), c.Now.Add(c.Ahead()))
	}
	var err, otherErr error
	c.SetBack, err = rejected("repeated_time")
	c.Duplicates, otherErr = rejected("duplicate")
	var samplesErr error
	c.Samples, samplesErr = a.increases(ctx, fmt.Sprintf("%s{topology=%q}[%s]", catalog.CollectionWorkerSamples,
		c.Topology, lookback), c.Now.Add(c.Ahead()))
	if err = errors.Join(err, otherErr, samplesErr); err != nil {
		return err
	}
	found, err := a.values(ctx, "worker", fmt.Sprintf(
		"max by (worker) (max_over_time(bullet_metrics_worker_clock_set_back_seconds{topology=%q}[%s]))", c.Topology,
		lookback), c.Now)
	c.SetBackBy = map[string]time.Duration{}
	for worker, seconds := range found {
		c.SetBackBy[worker] = time.Duration(seconds * float64(time.Second))
	}
	return err
}

// skews queries the errors of the workers' clocks. The registry's current value has precedence. Otherwise the newest
// value in the slices is used, which is written every 30 s of a worker's time, at that time. Without an upper bound,
// Most is +Inf.
func (a caller) skews(ctx context.Context, c *doctor.Collector, t *topology) error {
	for name, set := range map[string]func(s *doctor.Skew, v float64){
		catalog.CollectionSkew:      func(s *doctor.Skew, v float64) { s.Sure = v },
		catalog.CollectionSkewLeast: func(s *doctor.Skew, v float64) { s.Least = v },
		catalog.CollectionSkewMost:  func(s *doctor.Skew, v float64) { s.Most = v },
	} {
		found, err := a.values(ctx, "worker", fmt.Sprintf("last_over_time(%s{topology=%q}[%s])", name, c.Topology,
			lookback), c.Now.Add(c.Ahead()))
		if err != nil {
			return err
		}
		for worker, seconds := range found {
			skew, known := c.Skews[worker]
			if !known {
				skew.Most = math.Inf(1)
			}
			set(&skew, seconds)
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
