package doctor

import (
	"fmt"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
)

// mostNames is the maximum number of names in one finding.
const mostNames = 8

// names fails if a metric of the topology is not stored because another metric already uses its name. Metrics that
// repeat a stored metric are only listed: no data are lost, but somebody may look for them.
func names(f Facts) Finding {
	var lost, made, repeated []string
	for _, n := range f.Collector.NotStored {
		switch {
		case n.Lost:
			lost = append(lost, fmt.Sprintf("%s of %s (%s has the same stored name)", n.Metric, n.Component, n.Beside))
		case n.Reason == catalog.ReasonOwnName:
			made = append(made, fmt.Sprintf("%s (the topology has its own metric %s)", n.Metric, n.Beside))
		default:
			repeated = append(repeated, n.Metric)
		}
	}
	var says []string
	if len(made) > 0 {
		says = append(says, "not derived: "+listed(made, 0))
	}
	if len(repeated) > 0 {
		says = append(says, fmt.Sprintf("%d metrics are not stored because they repeat others: %s", len(repeated)+f.Collector.NotStoredMore,
			listed(repeated, f.Collector.NotStoredMore)))
	}
	if len(lost) > 0 {
		return fail("not stored: "+strings.Join(append([]string{listed(lost, 0)}, says...), "; "),
			"rename one of the two metrics in the topology; not_stored in /api/v1/collection/"+f.Collector.Topology+" lists all")
	}
	return ok(strings.Join(append([]string{"all metrics of the topology are stored"}, says...), "; "))
}

// listed joins the first names of a list, and says how many more there are.
func listed(names []string, more int) string {
	if n := len(names) - mostNames; n > 0 {
		names, more = names[:mostNames], more+n
	}
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
