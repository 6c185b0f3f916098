// Package dashboard defines the Grafana dashboards as data, and writes the JSON and YAML that Grafana reads. About 90
// panels share their data source, legends and handling of gaps. If they were written by hand, they would drift apart
// (decision 7 in docs/decisions).
//
// The package owns the expressions and the texts of the panels. It must not know how Grafana is reached, nor what
// evaluates the expressions. Start with Board. Each board_*.go file is one dashboard, and grafana.go has the types of
// the JSON.
package dashboard

// Board is one dashboard about one subject. Its rows ask questions about the subject.
type Board struct {
	// Name is the file's name without .json. The uid is "bullet-" followed by Name.
	Name, Title, Description string
	Variables                []Variable
	Rows                     []Row
}

// Row is a question and the panels that answer it.
type Row struct {
	Question string
	Panels   []Panel
}

// Kind is a panel type of Grafana.
type Kind string

// The kinds that the boards use. Grafana still develops all of them.
const (
	Lines   Kind = "timeseries"
	Number  Kind = "stat"
	Heatmap Kind = "heatmap"
	Table   Kind = "table"
)

// Panel is one figure of a dashboard. Its description says how to read it, because a person who opens a dashboard in
// an incident may not know the metric.
type Panel struct {
	Kind               Kind
	Title, Description string
	Unit               Unit
	Queries            []Query
	// Width is in 24ths of the dashboard's width, and Height in Grafana's rows of 30 px. 0 means the default of the
	// kind.
	Width, Height int
	// Limit is drawn as a line, and values above it get another colour; 0 means no limit.
	Limit float64
	// Times is a factor that a Grafana transformation applies to the values; 0 means none. The store keeps base units.
	Times float64
	// Columns renames a table's columns. A column with the new name "" is hidden. The results of several queries are
	// joined by their labels to one table.
	Columns map[string]string
	// Bars are the renamed columns that are drawn as bars up to Limit.
	Bars []string
	// Leads is the name of the board that a click on a number opens, with the same topology and time range; "" means
	// none.
	Leads string
}

// Query is one PromQL expression of a panel and the legend of its series.
type Query struct {
	Expr, Legend string
}

// Unit is a unit of Grafana.
type Unit string

// The units that the boards use.
const (
	Seconds    Unit = "s"
	Bytes      Unit = "bytes"
	BytesRate  Unit = "binBps"
	Share      Unit = "percentunit" // 1 is 100%
	Count      Unit = "short"
	Rate       Unit = "cps" // events per second
	Cores      Unit = "suffix: cores"
	MsAMinute  Unit = "suffix: ms/min"
	CoresAWork Unit = "suffix: cores/query"
	None       Unit = "none"
)

// Variable is a selection at the top of a dashboard.
type Variable struct {
	Name, Label, Description string
	// Values is a PromQL label_values(...). Options are fixed choices; the first one is the default. Exactly one of
	// both is set.
	Values  string
	Options []string
	// Many allows several choices. All are selected by default.
	Many bool
}

// The variables that most boards have. $reporting is the min step of every query, because Grafana's $__rate_interval
// is at least four times the min step.
var (
	topology = Variable{Name: "topology", Label: "Topology", Description: "Topology to show.",
		Values: "label_values(bullet_topology_info, topology)"}
	worker = Variable{Name: "worker", Label: "Worker", Description: "Workers to show (host:port).", Many: true,
		Values: `label_values(bullet_worker_heap_used_bytes{topology="$topology"}, worker)`}
	component = Variable{Name: "component", Label: "Component", Description: "Components to show.", Many: true,
		Values: `label_values(storm_emitted_total{topology="$topology"}, component)`}
	reporting = Variable{Name: "reporting", Label: "Reports every", Options: []string{"10s", "30s", "1m", "5m"},
		Description: "Reporting interval of the topology (topology.builtin.metrics.bucket.size.secs): 10s with the plugin's sampler, 1m by default in Storm. Rates cover four intervals."}
)

// All returns all boards in the order in which they are listed.
func All() []Board {
	return []Board{overview, figures, latency, collection, flow, queues, runs, health}
}

// UID returns the uid of the board in Grafana. It never changes, so that links remain valid.
func (b Board) UID() string { return "bullet-" + b.Name }
