package experiment

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
)

// Manifest says what ran: versions, sizes and flags from the collector, which has them from the topology itself, the machine, and what
// the caller knows. What cannot be found out is left out.
func Manifest(ctx context.Context, facts Facts, machine *Proc, o Options, known []report.Entry) []report.Entry {
	entries := append([]report.Entry{}, known...)
	add := func(key, value string) {
		if value != "" {
			entries = append(entries, report.Entry{Key: key, Value: value})
		}
	}
	if t, err := facts.Topology(ctx, o.Topology); err == nil {
		add("Storm", t.Versions.Storm)
		add("Bullet", t.Versions.Bullet)
		add("Java of the workers", t.Versions.Java)
		add("Plugin", t.Versions.Plugin)
		add("Topology id", t.ID)
		add("Executors", t.parallelism())
		add("Asked of the scheduler", t.resources())
		add("JVM flags of the workers", t.flags())
	}
	add("Processors", machine.processors())
	add("Memory", machine.memory())
	add("Kernel", machine.kernel())
	return entries
}

func (p *Proc) processors() string {
	all, err := p.fs.CPUInfo()
	if err != nil || len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%d x %s", len(all), all[0].ModelName)
}

func (p *Proc) memory() string {
	m, err := p.fs.Meminfo()
	if err != nil || m.MemTotalBytes == nil {
		return ""
	}
	return fmt.Sprintf("%.1f GiB", float64(*m.MemTotalBytes)/(1<<30))
}

func (p *Proc) kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return "Linux " + strings.TrimSpace(string(text))
}

// secret is what a setting's name says when its value is for nobody's eyes; the path of a file is not one.
var secret = regexp.MustCompile(`(?i)(password|passwd|secret|token|credential|private|api.?key)`)

func entry(key, value string) report.Entry {
	if secret.MatchString(key) && !strings.HasSuffix(key, ".file") {
		value = "(not shown)"
	}
	return report.Entry{Key: key, Value: value}
}

// Settings are the entries of a Bullet YAML file as they are, then those laid over it, "key=value". Values of settings whose
// names speak of secrets are not shown.
func Settings(path string, over []string) ([]report.Entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var settings yaml.MapSlice
	if err := yaml.Unmarshal(text, &settings); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var entries []report.Entry
	for _, setting := range settings {
		entries = append(entries, entry(fmt.Sprint(setting.Key), fmt.Sprint(setting.Value)))
	}
	for _, setting := range over {
		key, value, _ := strings.Cut(setting, "=")
		entries = append(entries, entry("-c "+key, value))
	}
	return entries, nil
}
