package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// The limits of what the page shows. report.json has everything.
const (
	mostPlaced  = 24
	mostTraffic = 12
	mostNamed   = 4 // workers or hosts named in a cell; if there are more, the cell has their number
)

// sharingBlocks shows where the components ran, how long their tuples waited, and what was sent between the workers.
// Components that share a host or a worker compete for its processors, and the tables show which ones do.
func (r *Report) sharingBlocks() []document.Block {
	var blocks []document.Block
	if r.Placement != nil {
		blocks = append(blocks, document.Tabled(componentTable(r.Placement)),
			document.Tabled(workerTable(r.Placement)))
		if more := len(r.Placement.Workers) - mostPlaced; more > 0 {
			blocks = append(blocks, document.Paragraph("%s more in report.json.", tuning.Counted(more, "worker")))
		}
	}
	if flows := r.flowTable(); flows.Rows() > 0 {
		blocks = append(blocks, document.Paragraph("Queue wait / execute time of a tuple in ms: means over the tuples of each step, with two significant digits. Storm calculates the wait in the receive queue from the population and the arrival rate of the queue. If it grows from step to step and the execute time does not, the component is overloaded."),
			document.Tabled(flows), document.List(r.flowNotes()))
	}
	return append(blocks, r.trafficBlocks()...)
}

// componentTable has a row for each component with the workers and hosts on which it runs. Tasks without a worker
// count, too, so that a component without placement is visible.
func componentTable(p *runstore.Placement) document.Table {
	tasks, workers, hosts := map[string]int{}, map[string][]string{}, map[string][]string{}
	for _, w := range p.Workers {
		for _, c := range w.Components {
			tasks[c.Component] += c.Tasks
			workers[c.Component] = append(workers[c.Component], w.Worker)
			hosts[c.Component] = tuning.Union(hosts[c.Component], w.Host)
		}
	}
	for _, c := range p.Unplaced {
		tasks[c.Component] += c.Tasks
	}
	return document.TableOf(slices.SortedFunc(maps.Keys(tasks), ownFirst),
		document.Text("Component", func(name string) string { return name }),
		countColumn("Tasks", func(name string) int { return tasks[name] }),
		document.Text("Workers", func(name string) string { return someOf(workers[name]) }),
		document.Text("Hosts", func(name string) string { return someOf(hosts[name]) }),
	)
}

// ownFirst sorts the topology's components before Storm's own, whose names begin with underscores.
func ownFirst(a, b string) int {
	storms := func(name string) int { return strings.Count(name[:min(2, len(name))], "_") }
	return cmp.Or(cmp.Compare(storms(a), storms(b)), cmp.Compare(a, b))
}

// someOf lists a few names, or returns the number of many names, because a cell with all workers of a large cluster is
// unreadable.
func someOf(names []string) string {
	switch {
	case len(names) == 0:
		return "unknown"
	case len(names) > mostNamed:
		return strconv.Itoa(len(names))
	}
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// workerTable has a row for each worker, sorted by host, so that workers of one host are adjacent.
func workerTable(p *runstore.Placement) document.Table {
	on := map[string]int{}
	for _, w := range p.Workers {
		on[w.Host]++
	}
	all := slices.SortedStableFunc(slices.Values(p.Workers), func(a, b runstore.PlacedWorker) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Worker, b.Worker))
	})
	type worker = runstore.PlacedWorker
	return document.TableOf(all[:min(len(all), mostPlaced)],
		document.Text("Host", func(w worker) string { return w.Host }),
		countColumn("Workers on the host", func(w worker) int { return on[w.Host] }),
		document.Text("Worker", func(w worker) string { return w.Worker }),
		countColumn("Tasks", func(w worker) (total int) {
			for _, c := range w.Components {
				total += c.Tasks
			}
			return total
		}),
		document.Text("Components with tasks", func(w worker) string {
			held := slices.SortedFunc(slices.Values(w.Components), func(a, b runstore.PlacedTasks) int {
				return ownFirst(a.Component, b.Component)
			})
			return strings.Join(tuning.Each(held, func(c runstore.PlacedTasks) string {
				return fmt.Sprintf("%s %d", c.Component, c.Tasks)
			}), ", ")
		}),
	)
}

// sharing calls of for each step that has data about sharing. Steps of older runs have none.
func (r *Report) sharing(of func(step int, s *runstore.Sharing)) {
	for i, s := range r.inOrder() {
		if s.Sharing != nil {
			of(i, s.Sharing)
		}
	}
}

// flowTable has a row for each component and a column for each step. A cell is the queue wait and the execution time of
// a tuple, in ms. A component that received nothing in any step has no row.
func (r *Report) flowTable() document.Table {
	t := newGrid(r.inOrder(), "Component")
	r.sharing(func(step int, s *runstore.Sharing) {
		for _, c := range s.Components {
			if c.QueueWaitMs.Known() || c.ExecuteMs.Known() { // otherwise the component received nothing
				t.set(step, tuning.TwoDigits(c.QueueWaitMs)+" / "+tuning.TwoDigits(c.ExecuteMs), c.Component)
			}
		}
	})
	slices.SortFunc(t.names, ownFirst)
	return t.table()
}

// flowNotes returns the reasons why figures are unknown, each with its components. The reasons are the rows, because
// most components share a reason.
func (r *Report) flowNotes() []string {
	of := map[string][]string{}
	r.sharing(func(_ int, s *runstore.Sharing) {
		for _, c := range s.Components {
			for note := range strings.SplitSeq(c.Note, "; ") {
				if note != "" {
					of[note] = tuning.Union(of[note], c.Component)
				}
			}
		}
	})
	return tuning.Each(slices.Sorted(maps.Keys(of)), func(note string) string {
		components := slices.SortedFunc(slices.Values(of[note]), ownFirst)
		return fmt.Sprintf("%s (in at least one step): %s.", strings.Join(components, ", "), note)
	})
}

// trafficBlocks shows the messages between workers: a row for each pair of workers and a column for each step. The
// pairs with the most traffic come first; the others are only counted.
func (r *Report) trafficBlocks() []document.Block {
	t, left := newGrid(r.inOrder(), "From", "To"), 0
	most, toAll := map[string]Figure{}, false
	r.sharing(func(step int, s *runstore.Sharing) {
		left = max(left, s.TrafficLeftOut)
		for _, each := range s.Traffic {
			to := cmp.Or(each.To, "all others")
			t.set(step, tuning.Fixed(each.MessagesPerSecond, 1), each.From, to)
			pair := each.From + rowSeparator + to
			most[pair], toAll = max(most[pair], each.MessagesPerSecond), toAll || each.To == ""
		}
	})
	// Pairs are sorted by their largest rate in any step. A pair that is busy in one step is therefore not hidden by
	// quiet steps.
	slices.SortFunc(t.names, func(a, b string) int { return cmp.Or(cmp.Compare(most[b], most[a]), cmp.Compare(a, b)) })
	if more := len(t.names) - mostTraffic; more > 0 {
		left, t.names = left+more, t.names[:mostTraffic]
	}
	if len(t.names) == 0 {
		return nil
	}
	text := "Messages per second between workers, as counted by the sender. Messages within a worker are not counted."
	if toAll {
		text = "Messages per second that each worker sent to all others. This version of Storm does not report them by receiver."
	}
	if left > 0 {
		text += fmt.Sprintf(" %s with fewer messages in report.json.", tuning.Counted(left, "pair"))
	}
	return []document.Block{document.Paragraph("%s", text), document.Tabled(t.table())}
}
