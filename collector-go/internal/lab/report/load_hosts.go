package report

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// hostStep is what the load client of a host did of a step.
type hostStep struct {
	step StepReport
	host runstore.ClientHost
}

// loadHostBlocks are what the load clients did of each step, where they were on several hosts.
func (r *Report) loadHostBlocks() []document.Block {
	var rows []hostStep
	for _, s := range r.Steps {
		for _, h := range s.Clients.Hosts {
			rows = append(rows, hostStep{s, h})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return []document.Block{document.Tabled(document.TableOf(rows,
		document.Number(r.stepHead(), "", func(row hostStep) string { return r.stepCell(row.step) }),
		document.Text("Load host", func(row hostStep) string { return row.host.Host }),
		wholeColumn("Queries submitted", func(row hostStep) int { return row.host.Submitted }),
		percentColumn("Share of all", func(row hostStep) Figure {
			return Figure(row.host.Submitted) / Figure(row.step.Clients.Submitted)
		}),
		wholeColumn("Due and not submitted", func(row hostStep) int { return row.host.NotSubmitted }),
		figureColumn("Late, p99", "ms", 0, func(row hostStep) Figure { return row.host.LatenessP99Ms }),
		figureColumn("CPU", "cores", 2, func(row hostStep) Figure { return row.host.CPUCores }),
		figureColumn("Of", "cores", 0, func(row hostStep) Figure { return row.host.CPULimitCores }),
		document.Text("At its limit", hostStep.limited)))}
}

// limited states whether the client was at its limit, by the step's evidence.
func (h hostStep) limited() string {
	if e := h.step.Evidence; e != nil && slices.Contains(e.Client.HostsAtLimit(), h.host.Host) {
		return "yes"
	}
	return "no"
}
