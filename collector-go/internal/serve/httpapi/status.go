package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/annotations"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/federation"
)

// BuildInfo is the answer of /api/v1/status/buildinfo.
type BuildInfo struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Branch    string `json:"branch"`
	BuildUser string `json:"buildUser"`
	BuildDate string `json:"buildDate"`
	GoVersion string `json:"goVersion"`
}

// runtimeInfo is the answer of /api/v1/status/runtimeinfo. The fields are those of Prometheus. CorruptionCount is
// always 0, because the stores have their own metrics for damaged data.
type runtimeInfo struct {
	StartTime           time.Time `json:"startTime"`
	CWD                 string    `json:"CWD"`
	Hostname            string    `json:"hostname"`
	ServerTime          time.Time `json:"serverTime"`
	ReloadConfigSuccess bool      `json:"reloadConfigSuccess"`
	LastConfigTime      time.Time `json:"lastConfigTime"`
	CorruptionCount     int64     `json:"corruptionCount"`
	GoroutineCount      int       `json:"goroutineCount"`
	GOMAXPROCS          int       `json:"GOMAXPROCS"`
	GOMEMLIMIT          int64     `json:"GOMEMLIMIT"`
	GOGC                string    `json:"GOGC"`
	GODEBUG             string    `json:"GODEBUG"`
	StorageRetention    string    `json:"storageRetention"`
}

func (a *api) buildInfo(request) answer {
	info := a.options.Version
	info.Version = cmp.Or(info.Version, libraryVersion())
	info.GoVersion = cmp.Or(info.GoVersion, runtime.Version())
	return answer{data: &info}
}

// flags answers /api/v1/status/flags: settings that clients need to know, in the form of Prometheus' flags.
func (a *api) flags(request) answer {
	if a.options.Flags == nil {
		return answer{data: map[string]string{}}
	}
	return answer{data: a.options.Flags}
}

// libraryVersion returns the release of Prometheus whose Go module this program uses, or "" if it is unknown.
func libraryVersion() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range build.Deps {
		if m.Path == "github.com/prometheus/prometheus" {
			return releaseOf(m.Version)
		}
	}
	return ""
}

// releaseOf converts the version of Prometheus' Go module to that of its release: v0.315.0 is release 3.15.0. It
// returns "" for any other form.
func releaseOf(module string) string {
	var minor, patch int
	if _, err := fmt.Sscanf(module, "v0.%d.%d", &minor, &patch); err != nil {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", minor/100, minor%100, patch)
}

func (a *api) runtimeInfo(request) answer {
	directory, err := os.Getwd()
	if err != nil {
		return answer{err: &apiError{errorInternal, err}}
	}
	host, err := os.Hostname()
	if err != nil {
		return answer{err: &apiError{errorInternal, fmt.Errorf("error getting hostname: %w", err)}}
	}
	successful, configured := true, a.started
	if a.options.Reloader != nil {
		successful, configured = a.options.Reloader.LastReload()
	}
	return answer{data: runtimeInfo{
		StartTime: a.started, LastConfigTime: configured, ReloadConfigSuccess: successful,
		ServerTime: a.now().UTC(), CWD: directory, Hostname: host,
		GoroutineCount: runtime.NumGoroutine(), GOMAXPROCS: runtime.GOMAXPROCS(0), GOMEMLIMIT: debug.SetMemoryLimit(-1),
		GOGC: os.Getenv("GOGC"), GODEBUG: os.Getenv("GODEBUG"), StorageRetention: a.options.StorageRetention,
	}}
}

// metadata answers /metadata. Every metric has exactly one description, so that limit_per_metric is checked but has no
// effect.
func (a *api) metadata(r request) answer {
	limit, err := intParameter(r, "limit")
	if err != nil {
		return badData(err)
	}
	if _, err := intParameter(r, "limit_per_metric"); err != nil {
		return badData(err)
	}
	found := map[string][]Metadata{}
	known := a.known(r.FormValue("metric"))
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if limit >= 0 && len(found) >= limit {
			break
		}
		found[name] = []Metadata{known[name]}
	}
	return answer{data: found}
}

// known returns the descriptions of one metric, or of all if metric is "".
func (a *api) known(metric string) map[string]Metadata {
	if a.options.Metadata == nil {
		return nil
	}
	all := a.options.Metadata.Metadata()
	if metric == "" {
		return all
	}
	if one, ok := all[metric]; ok {
		return map[string]Metadata{metric: one}
	}
	return nil
}

// intParameter parses an integer parameter; it returns -1 if the parameter is absent.
func intParameter(r request, name string) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, errors.New(name + " must be a number")
	}
	return n, nil
}

// CatalogMetadata describes the metrics of the catalog and those of annotations.
type CatalogMetadata struct{}

// Metadata implements MetadataSource.
func (CatalogMetadata) Metadata() map[string]Metadata {
	described := catalog.Metadata()
	all := make(map[string]Metadata, len(described))
	for name, d := range described {
		all[name] = Metadata{Type: d.Type, Help: d.Help, Unit: d.Unit}
	}
	all[annotations.Active] = Metadata{Type: "gauge",
		Help: "1 while an annotation lasts, for example a step of an experiment."}
	for name, what := range map[string]string{annotations.Start: "an annotation began",
		federation.Start: "an annotation of a collector over this engine began",
		federation.End:   "an annotation of a collector over this engine ended"} {
		all[name] = Metadata{Type: "gauge", Help: "Time at which " + what + ", in seconds since the Unix epoch.", Unit: "seconds"}
	}
	return all
}
