// Package dashboard defines the Grafana dashboards as data and writes the JSON and YAML that Grafana reads. About 90
// panels share their data source, legends and handling of gaps; written by hand they would drift apart (decision 7 in
// docs/decisions).
//
// It owns the expressions and the texts of the panels. It must not know how Grafana is reached, nor what evaluates the
// expressions. Start with Board; each board_*.go file is one dashboard, and grafana.go is the form of the JSON.
package dashboard

// Board is one dashboard: a subject, asked about in rows.
type Board struct {
	// Name is the file's, without .json; the uid is "bullet-" and it.
	Name, Title, Description string
	Variables                []Variable
	Rows                     []Row
}

// Row is a question and the panels that answer it.
type Row struct {
	Question string
	Panels   []Panel
}

// Kind of a panel, as Grafana calls it.
type Kind string

// The kinds that the boards use: those that Grafana keeps current.
const (
	Lines   Kind = "timeseries"
	Number  Kind = "stat"
	Heatmap Kind = "heatmap"
	Table   Kind = "table"
)

// Panel is one figure of a dashboard. Its description says how to read it, since whoever opens a dashboard in an
// incident does not know the metric.
type Panel struct {
	Kind               Kind
	Title, Description string
	Unit               Unit
	Queries            []Query
	// Width is out of 24, Height in Grafana's rows of 30 px; 0 stands for the kind's own.
	Width, Height int
	// Limit is drawn as a line, and colours what is above it; 0 for none.
	Limit float64
	// Times multiplies what is shown, by a transformation of Grafana's; 0 for none. The store keeps base units.
	Times float64
	// Columns renames a table's columns; one with the name "" is hidden. Several queries are one table, joined by their
	// labels.
	Columns map[string]string
	// Bars are the renamed columns that are drawn as bars up to Limit.
	Bars []string
	// Leads is the board, by its name, that a click on a number opens, of the same topology and time; "" for none.
	Leads string
}

// Query is one PromQL expression of a panel and the legend of its series.
type Query struct {
	Expr, Legend string
}

// Unit as Grafana writes it.
type Unit string

// The units that the boards use.
const (
	Seconds    Unit = "s"
	Bytes      Unit = "bytes"
	BytesRate  Unit = "binBps"
	Share      Unit = "percentunit" // 1 is 100%
	Count      Unit = "short"
	Rate       Unit = "cps" // counts a second
	Cores      Unit = "suffix: cores"
	MsAMinute  Unit = "suffix: ms/min"
	CoresAWork Unit = "suffix: cores/query"
	None       Unit = "none"
)

// Variable is a choice at the head of a dashboard.
type Variable struct {
	Name, Label, Description string
	// Values is a PromQL label_values(...); Options are fixed choices, the first of them chosen. One or the other.
	Values  string
	Options []string
	// Many lets several be chosen, all of them at first.
	Many bool
}

// The variables that most boards have. $reporting is the min step of every query: Grafana's $__rate_interval is at
// least four of it.
var (
	topology = Variable{Name: "topology", Label: "Topology", Description: "The topology that the panels are about.",
		Values: "label_values(bullet_topology_info, topology)"}
	worker = Variable{Name: "worker", Label: "Worker", Description: "Workers to show, as host:port.", Many: true,
		Values: `label_values(bullet_worker_heap_used_bytes{topology="$topology"}, worker)`}
	component = Variable{Name: "component", Label: "Component", Description: "Components to show.", Many: true,
		Values: `label_values(storm_emitted_total{topology="$topology"}, component)`}
	reporting = Variable{Name: "reporting", Label: "Reports every", Options: []string{"10s", "30s", "1m", "5m"},
		Description: "How far apart the topology's figures are: topology.builtin.metrics.bucket.size.secs, 10s where the plugin's sampler is on, 1m as Storm has it. Rates look back four of these."}
)

// All boards, in the order in which they are listed.
func All() []Board {
	return []Board{overview, figures, latency, collection, flow, queues, runs, health}
}

// UID of the board in Grafana; it never changes, so that links last.
func (b Board) UID() string { return "bullet-" + b.Name }
