package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Placement is where a topology's tasks ran.
type Placement struct {
	Workers []PlacedWorker `json:"workers"`
	// Unplaced are tasks of which the collector had heard nothing.
	Unplaced []PlacedTasks `json:"unplaced,omitempty"`
}

// PlacedWorker is a worker with what it held.
type PlacedWorker struct {
	Worker     string        `json:"worker"`
	Host       string        `json:"host"`
	Components []PlacedTasks `json:"components"`
}

// PlacedTasks are some tasks of a component.
type PlacedTasks struct {
	Component string `json:"component"`
	Tasks     int    `json:"tasks"`
}

// Sharing is how the components and workers got on with each other in a step's measured time.
type Sharing struct {
	Components []ComponentFlow `json:"components"`
	// Traffic is from worker to worker, most first.
	Traffic []Traffic `json:"traffic"`
	// TrafficLeftOut counts what is not in Traffic since others had more.
	TrafficLeftOut int `json:"traffic_left_out,omitempty"`
}

// ComponentFlow is how long a tuple waited for a component's tasks and how long it then took, both means over its tuples.
type ComponentFlow struct {
	Component       string `json:"component"`
	TuplesPerSecond Figure `json:"executed_per_second"`
	// QueueWaitMs is the time in the tasks' receive queues as Storm makes it from population and arrival rate, QueueWaitMostMs that of
	// the task with the longest. To a spout come acks alone.
	QueueWaitMs     Figure `json:"queue_wait_ms"`
	QueueWaitMostMs Figure `json:"queue_wait_most_ms"`
	// ExecuteMs is what a tuple took in execute().
	ExecuteMs Figure `json:"execute_ms"`
}

// Traffic is what one worker sent to another.
type Traffic struct {
	From string `json:"from"`
	// To is "" where Storm told only what was to be sent to all other workers.
	To                string `json:"to,omitempty"`
	MessagesPerSecond Figure `json:"messages_per_second"`
}

// Bounds of what a page shows of it; report.json has all.
const (
	mostPlaced  = 24
	mostTraffic = 12
	mostNamed   = 4 // workers or hosts named in a cell; more are counted
)

// sharingBlocks are who shares what: where the components ran, how long their tuples waited, what went between the workers.
func (r *Report) sharingBlocks() []block {
	var blocks []block
	if r.Placement != nil {
		blocks = append(blocks, tabled(r.Placement.componentTable()), tabled(r.Placement.workerTable()))
		if more := len(r.Placement.Workers) - mostPlaced; more > 0 {
			blocks = append(blocks, paragraph("%s more in report.json.", numbered(more, "worker")))
		}
	}
	if flows := r.flowTable(); len(flows.Rows) > 0 {
		blocks = append(blocks, paragraph("Queue wait / execute time of a tuple, ms, means over the tuples of each step's measured time. The wait is that in the receive queue, as Storm makes it from "+
			"the queue's population and arrival rate; where it grows from step to step while the execution time does not, the component falls behind. To a spout come acks alone."), tabled(flows))
	}
	traffic, more := r.trafficTable()
	if len(traffic.Rows) > 0 {
		text := "Messages a second from worker to worker, as the senders count them; what stays within a worker is not sent."
		if slices.ContainsFunc(traffic.Rows, func(row []string) bool { return row[1] == allOthers }) {
			text = "Messages a second that each worker had to send to all others: this Storm does not tell them apart by receiver."
		}
		if more > 0 {
			text += fmt.Sprintf(" %s with less in report.json.", numbered(more, "pair"))
		}
		blocks = append(blocks, paragraph("%s", text), tabled(traffic))
	}
	return blocks
}

// componentTable has a row for each component, with how many workers and hosts it is spread over.
func (p *Placement) componentTable() table {
	t := table{Heads: []string{"Component", "Tasks", "Workers", "Hosts"}, Numeric: []bool{false, true, false, false}}
	tasks, workers, hosts := map[string]int{}, map[string][]string{}, map[string][]string{}
	for _, w := range p.Workers {
		for _, c := range w.Components {
			tasks[c.Component] += c.Tasks
			workers[c.Component] = append(workers[c.Component], w.Worker)
			if !slices.Contains(hosts[c.Component], w.Host) {
				hosts[c.Component] = append(hosts[c.Component], w.Host)
			}
		}
	}
	for _, c := range p.Unplaced {
		tasks[c.Component] += c.Tasks
	}
	for _, name := range slices.SortedFunc(maps.Keys(tasks), ownFirst) {
		t.Rows = append(t.Rows, []string{name, strconv.Itoa(tasks[name]), someOf(workers[name]), someOf(hosts[name])})
	}
	return t
}

// ownFirst puts Storm's own components behind the topology's.
func ownFirst(a, b string) int {
	return cmp.Or(cmp.Compare(strings.Count(a[:min(2, len(a))], "_"), strings.Count(b[:min(2, len(b))], "_")), cmp.Compare(a, b))
}

// someOf names a few and counts many.
func someOf(names []string) string {
	switch {
	case len(names) == 0:
		return "not heard of"
	case len(names) > mostNamed:
		return strconv.Itoa(len(names))
	}
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// workerTable has a row for each worker, host by host.
func (p *Placement) workerTable() table {
	t := table{Heads: []string{"Host", "Workers of the host", "Worker", "Tasks", "Components, with their tasks"}, Numeric: []bool{false, true, false, true, false}}
	on := map[string]int{}
	for _, w := range p.Workers {
		on[w.Host]++
	}
	all := slices.SortedStableFunc(slices.Values(p.Workers), func(a, b PlacedWorker) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Worker, b.Worker))
	})
	for _, w := range all[:min(len(all), mostPlaced)] {
		total := 0
		var held []string
		for _, c := range slices.SortedFunc(slices.Values(w.Components), func(a, b PlacedTasks) int { return ownFirst(a.Component, b.Component) }) {
			total += c.Tasks
			held = append(held, fmt.Sprintf("%s %d", c.Component, c.Tasks))
		}
		t.Rows = append(t.Rows, []string{w.Host, strconv.Itoa(on[w.Host]), w.Worker, strconv.Itoa(total), strings.Join(held, ", ")})
	}
	return t
}

// flowTable has a row for each component and a column for each step.
func (r *Report) flowTable() table {
	t := table{Heads: []string{"Component"}, Numeric: []bool{false}}
	rows := map[string]int{}
	for i, s := range r.Steps {
		t.Heads, t.Numeric = append(t.Heads, stepName(s)), append(t.Numeric, true)
		if s.Sharing == nil {
			continue
		}
		for _, c := range s.Sharing.Components {
			if !c.QueueWaitMs.Known() && !c.ExecuteMs.Known() {
				continue // nothing came to it
			}
			row, found := rows[c.Component]
			if !found {
				row = len(t.Rows)
				rows[c.Component] = row
				t.Rows = append(t.Rows, blanks(c.Component, len(r.Steps)))
			}
			t.Rows[row][i+1] = tuning.Digits(c.QueueWaitMs) + " / " + tuning.Digits(c.ExecuteMs)
		}
	}
	slices.SortFunc(t.Rows, func(a, b []string) int { return ownFirst(a[0], b[0]) })
	return t
}

// allOthers stands for the receivers that Storm does not tell apart.
const allOthers = "all others"

// trafficTable has a row for each pair of workers and a column for each step; more counts the pairs without a row.
func (r *Report) trafficTable() (t table, more int) {
	t = table{Heads: []string{"From", "To"}, Numeric: []bool{false, false}}
	type pair struct{ from, to string }
	most, cells := map[pair]Figure{}, map[pair][]string{}
	for i, s := range r.Steps {
		t.Heads, t.Numeric = append(t.Heads, stepName(s)), append(t.Numeric, true)
		if s.Sharing == nil {
			continue
		}
		more = max(more, s.Sharing.TrafficLeftOut)
		for _, each := range s.Sharing.Traffic {
			at := pair{each.From, cmp.Or(each.To, allOthers)}
			if cells[at] == nil {
				cells[at] = blanks("", len(r.Steps))[1:]
			}
			cells[at][i] = number(each.MessagesPerSecond, 1)
			most[at] = max(most[at], each.MessagesPerSecond)
		}
	}
	pairs := slices.SortedFunc(maps.Keys(most), func(a, b pair) int {
		return cmp.Or(cmp.Compare(most[b], most[a]), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	more += max(0, len(pairs)-mostTraffic)
	for _, at := range pairs[:min(len(pairs), mostTraffic)] {
		t.Rows = append(t.Rows, append([]string{at.from, at.to}, cells[at]...))
	}
	return t, more
}
