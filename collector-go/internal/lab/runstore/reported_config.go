package runstore

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// ReportedConfigFile is, relative to a trial's directory, what its topology reported of itself.
const ReportedConfigFile = "topology.json"

// ReportedConfig is trials/NN-label/topology.json: what a trial's topology reported of itself, as it was in effect. Of
// a trial that was launched more than once it is the last launch's. What was not reported is "" or null.
type ReportedConfig struct {
	TopologyID string `json:"topology_id"`
	// Bullet, Storm, WorkerJava and Plugin are versions.
	Bullet     string `json:"bullet"`
	Storm      string `json:"storm"`
	WorkerJava string `json:"worker_java"`
	Plugin     string `json:"plugin"`
	// WorkerFlags are the options of the workers' JVMs as Storm puts them together, in its order. Of these, HeapFlags
	// are about heap and GCFlags about the garbage collector; an option that is there twice is in them once, as the JVM
	// takes it: the last.
	WorkerFlags string `json:"worker_flags"`
	HeapFlags   string `json:"heap_flags"`
	GCFlags     string `json:"gc_flags"`
	// HeapLimitBytes is how far the heap of a worker could grow by its JVM's own account, of the worker with the
	// largest.
	HeapLimitBytes tuning.Figure `json:"heap_limit_bytes"`
	// Executors are those of Bullet's components, "FilterBolt 4, JoinBolt 1"; Requested is what all ask of the
	// scheduler.
	Executors string `json:"executors"`
	Requested string `json:"asked"`
	// Settings are those that the plugin reports, by name.
	Settings []Entry `json:"settings"`
}

// Add puts what a topology reported into a run's manifest.
func (m *Manifest) Add(c ReportedConfig) {
	m.Versions.Storm, m.Versions.Bullet, m.Versions.WorkerJava, m.Versions.Plugin = c.Storm, c.Bullet,
		c.WorkerJava, c.Plugin
	m.WorkerFlags, m.GCFlags = c.WorkerFlags, c.GCFlags
	m.Further = []Entry{{"Topology id", c.TopologyID}, {"Executors", c.Executors},
		{"Requested from the scheduler", c.Requested}}
}

// SaveReportedConfig writes what a trial's topology reported, in place of what an earlier launch of it did.
func (w *Writer) SaveReportedConfig(t PlannedTrial, c ReportedConfig) error {
	return w.save(filepath.Join(TrialsDir, t.Name(), ReportedConfigFile), c)
}

// ReportedConfig is what the trial's topology reported; nil where nothing is known of it.
func (t Trial) ReportedConfig() (*ReportedConfig, error) {
	return readIfThere[ReportedConfig](filepath.Join(t.Dir, ReportedConfigFile))
}

// Arguments are how the trial's topology was launched; empty where it never was.
func (t Trial) Arguments() (a Arguments, err error) {
	if there, err := readIfThere[Arguments](filepath.Join(t.Dir, ArgumentsFile)); there != nil {
		return *there, err
	}
	return a, err
}

// secret is what a setting's name states when its value is for nobody's eyes; the path of a file is not one.
var secret = regexp.MustCompile(`(?i)(password|passwd|secret|token|credential|private|api.?key)`)

const hidden = "(not shown)"

// Shown is a setting's value as people may see it.
func Shown(key, value string) string {
	if secret.MatchString(key) && !strings.HasSuffix(key, ".file") {
		return hidden
	}
	return value
}

// Shown are the entries as people may see them.
func (a Arguments) Shown() (entries []Entry) {
	for _, setting := range a.Settings {
		key, value, _ := strings.Cut(setting, "=")
		entries = append(entries, Entry{Key: key, Value: Shown(key, value)})
	}
	return entries
}

// CommandLine is the command that submitted the topology, as a shell takes it, without secrets; "" where the local
// cluster did.
func (a Arguments) CommandLine() string {
	var words []string
	for _, word := range a.Launch {
		if key, value, found := strings.Cut(word, "="); found {
			word = key + "=" + Shown(key, value)
		}
		words = append(words, quoted(word))
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+{}-]+$`)

func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
