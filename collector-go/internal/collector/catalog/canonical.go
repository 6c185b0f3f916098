package catalog

import (
	"math"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// units are the ends of names that say a unit, longest first.
var units = []string{"per_second", "seconds", "messages", "records", "samples", "percent", "bytes", "cores", "ratio"}

// unit is what the metric counts in, as the end of its name says; "" for a plain number.
func (c *canonical) unit() string {
	name := strings.TrimSuffix(c.name, "_total")
	for _, unit := range units {
		if strings.HasSuffix(name, "_"+unit) {
			return unit
		}
	}
	return ""
}

// spread are the names of the least and greatest sample of a gauge's slice: "_min" and "_max" stand before the unit. ""
// for what has no spread.
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

// restarts is the counter that is derived from a start time.
func (c *canonical) restarts() string {
	if c.is(start) {
		return "bullet_worker_restarts_total"
	}
	return ""
}

// negative is the counter of a distribution's negative observations.
func (c *canonical) negative() string {
	if c.kind != metric.KindDistribution {
		return ""
	}
	return strings.TrimSuffix(c.name, "_seconds") + "_negative_total"
}

// allLabels are the scope's labels and the metric's own.
func (c *canonical) allLabels() []string {
	return append(slices.Clone(c.scope.labels()), strings.Fields(c.labels)...)
}

// mostBytes is more memory than any machine has; what is above says "no limit" (a cgroup without one reports 2^63).
const mostBytes = 1 << 60

// mostCount is how far a float counts by ones. What is above was never counted, and a total that took it in would not
// rise any more.
const mostCount = 1 << 53

// bounds are the values that make sense. A JVM says -1 for a limit that it does not have, and Storm divides by it; what
// Storm and Bullet count is never negative.
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

// description is the help, with a mark where the figure is an estimate.
func (c *canonical) description() string {
	if c.is(sampled) {
		return c.help + ". [sampled: an estimate from a sample of the tuples; exact only if topology.stats.sample.rate is 1.0]"
	}
	return c.help
}
