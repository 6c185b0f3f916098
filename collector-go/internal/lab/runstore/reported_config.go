package runstore

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// ReportedConfigFile is the file with a topology's reported configuration, relative to the trial's directory.
const ReportedConfigFile = "topology.json"

// ReportedConfig is trials/NN-label/topology.json: the effective configuration that a trial's topology reported. If
// the trial was launched several times, it is that of the last launch. Values that were not reported are "" or null.
type ReportedConfig struct {
	TopologyID string `json:"topology_id"`
	// Bullet, Storm, WorkerJava and Plugin are versions.
	Bullet     string `json:"bullet"`
	Storm      string `json:"storm"`
	WorkerJava string `json:"worker_java"`
	Plugin     string `json:"plugin"`
	// WorkerFlags are the options of the workers' JVMs in the order in which Storm joins them. HeapFlags are those
	// about the heap, GCFlags those about the garbage collector. Both contain only the last of repeated options, which
	// is the one that the JVM uses.
	WorkerFlags string `json:"worker_flags"`
	HeapFlags   string `json:"heap_flags"`
	GCFlags     string `json:"gc_flags"`
	// HeapLimitBytes is the largest maximum heap size of any worker, as its JVM reports it.
	HeapLimitBytes tuning.Figure `json:"heap_limit_bytes"`
	// Executors lists the executors of Bullet's components, such as "FilterBolt 4, JoinBolt 1". Requested is the total
	// resource request to the scheduler.
	Executors string `json:"executors"`
	Requested string `json:"asked"`
	// Settings are the settings that the plugin reports, sorted by name.
	Settings []Entry `json:"settings"`
}

// Add copies a topology's reported configuration into a run's manifest.
func (m *Manifest) Add(c ReportedConfig) {
	m.Versions.Storm, m.Versions.Bullet, m.Versions.WorkerJava, m.Versions.Plugin = c.Storm, c.Bullet,
		c.WorkerJava, c.Plugin
	m.WorkerFlags, m.GCFlags = c.WorkerFlags, c.GCFlags
	m.Further = []Entry{{"Topology id", c.TopologyID}, {"Executors", c.Executors},
		{"Requested from the scheduler", c.Requested}}
}

// SaveReportedConfig writes the configuration that a trial's topology reported. It replaces that of an earlier launch.
func (w *Writer) SaveReportedConfig(t PlannedTrial, c ReportedConfig) error {
	return w.save(filepath.Join(TrialsDir, t.Name(), ReportedConfigFile), c)
}

// ReportedConfig returns the configuration that the trial's topology reported; nil if there is none.
func (t Trial) ReportedConfig() (*ReportedConfig, error) {
	return readIfThere[ReportedConfig](filepath.Join(t.Dir, ReportedConfigFile))
}

// Arguments returns how the trial's topology was launched; empty if it never was.
func (t Trial) Arguments() (a Arguments, err error) {
	if there, err := readIfThere[Arguments](filepath.Join(t.Dir, ArgumentsFile)); there != nil {
		return *there, err
	}
	return a, err
}

// secret matches the names of settings whose values must not be shown. The path of a file is not secret.
var secret = regexp.MustCompile(`(?i)(password|passwd|secret|token|credential|private|api.?key)`)

const hidden = "(not shown)"

// Shown returns a setting's value for display; secrets are masked.
func Shown(key, value string) string {
	if secret.MatchString(key) && !strings.HasSuffix(key, ".file") {
		return hidden
	}
	return value
}

// Shown returns the settings for display; secrets are masked.
func (a Arguments) Shown() (entries []Entry) {
	for _, setting := range a.Settings {
		key, value, _ := strings.Cut(setting, "=")
		entries = append(entries, Entry{Key: key, Value: Shown(key, value)})
	}
	return entries
}

// CommandLine returns the command that submitted the topology, quoted for a shell and without secrets. It is "" if the
// local cluster submitted it.
func (a Arguments) CommandLine() string {
	var words []string
	for _, word := range a.Launch {
		if key, value, found := strings.Cut(word, "="); found {
			word = key + "=" + Shown(key, value)
		}
		if !plainWord.MatchString(word) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+{}-]+$`)
