package catalog

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"

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
