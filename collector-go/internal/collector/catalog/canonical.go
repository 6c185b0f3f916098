package catalog

import (
	"math"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// units are the endings of metric names that name a unit. unit returns the first one that matches.
var units = []string{"per_second", "seconds", "messages", "records", "samples", "percent", "bytes", "cores", "ratio"}

// unit returns the unit of the metric, which is the ending of its name, or "" for a plain number.
func (c *canonical) unit() string {
	name := strings.TrimSuffix(c.name, "_total")
	for _, unit := range units {
		if strings.HasSuffix(name, "_"+unit) {
			return unit
		}
	}
	return ""
}

// spread returns the names for the least and the greatest sample of a gauge's slice. "_min" and "_max" come before the
// unit. The names are "" for a metric without a spread.
func (c *canonical) spread() (least, greatest string) {
	if c.kind != metric.KindGauge || c.is(single) {
		return "", ""
	}
	stem, end := c.name, ""
	if unit := c.unit(); unit != "" {
		end = "_" + unit
		stem = strings.TrimSuffix(stem, end)
	}
	return stem + "_min" + end, stem + "_max" + end
}

// restarts returns the name of the counter that is derived from a start time, or "" for other metrics.
func (c *canonical) restarts() string {
	if c.is(start) {
		return "bullet_worker_restarts_total"
	}
	return ""
}

// negative returns the name of the counter for a distribution's negative observations, or "" for other metrics.
func (c *canonical) negative() string {
	if c.kind != metric.KindDistribution {
		return ""
	}
	return strings.TrimSuffix(c.name, "_seconds") + "_negative_total"
}

// allLabels returns the labels of the scope, followed by the metric's own.
func (c *canonical) allLabels() []string {
	return append(slices.Clone(c.scope.labels()), strings.Fields(c.labels)...)
}

// mostBytes exceeds the memory of any machine. A greater value means "no limit": a cgroup without one reports 2^63.
const mostBytes = 1 << 60

// mostCount is the limit up to which a float64 can count in steps of 1. No real count is greater, and a total that
// included a greater value would no longer increase.
const mostCount = 1 << 53

// bounds returns the range of valid values. A JVM reports -1 for a limit that it does not have, and Storm divides by
// it. What Storm and Bullet count is never negative.
func (c *canonical) bounds() (least, most float64) {
	switch {
	case c.is(signed):
		return -math.MaxFloat64, math.MaxFloat64
	case c.unit() == "bytes" && c.kind == metric.KindGauge:
		return 0, mostBytes
	case c.kind == metric.KindCounter:
		return 0, mostCount
	}
	return 0, math.MaxFloat64
}

// description returns the help text. It marks a sampled metric as an estimate.
func (c *canonical) description() string {
	if c.is(sampled) {
		return c.help + ". [sampled: an estimate from a sample of the tuples; exact only if topology.stats.sample.rate is 1.0]"
	}
	return c.help
}

// Description is what Prometheus' metadata endpoint returns for a metric. The page and Grafana's query builder show it.
// Its Help is therefore the sentence of METRICS.md and not a second wording of it.
type Description struct {
	Type string // gauge, counter or histogram
	Help string
	Unit string // "" for a plain number
	// Labels are the labels that its series may have.
	Labels []string
}

// Metadata describes every metric that has a name of ours, by name. It includes the metrics that are derived from
// others, such as the least sample of a slice. A topology's own metrics are not included, because nothing is known
// about them except their names.
func Metadata() map[string]Description {
	all := make(map[string]Description, 2*len(metrics))
	for i := range metrics {
		m := &metrics[i]
		all[m.name] = Description{Type: m.kind.String(), Help: m.description() + ".", Unit: m.unit(),
			Labels: m.allLabels()}
		if least, greatest := m.spread(); least != "" {
			all[least] = Description{Type: "gauge", Help: "Minimum of the samples in a slice: " + m.description() + ".",
				Unit: m.unit(), Labels: m.allLabels()}
			all[greatest] = Description{Type: "gauge", Help: "Maximum of the samples in a slice: " + m.description() + ".",
				Unit: m.unit(), Labels: m.allLabels()}
		}
		if negative := m.negative(); negative != "" {
			all[negative] = Description{Type: metric.KindCounter.String(),
				Help: "Observations below zero, caused by clock skew. They are not in the histogram: " +
					m.description() + ".", Labels: m.allLabels()}
		}
	}
	return all
}
