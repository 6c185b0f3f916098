package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

// configured is what the flags and the configuration file say.
type configured struct {
	config.Config
	lines config.Lines
	disk  int64 // size of the data directory's disk, bytes; 0 where it is unknown
	heap  int64 // how large the Go heap may get, bytes; 0 where it is unknown
	// tooLarge are warnings about bounds that were set and do not fit into memory.
	tooLarge []string
}

// reloads reloads, in a running collector, the rule files, the list of rule files, and the access files (tokens,
// certificates, the web configuration). Everything is checked before anything is applied, the rest of the settings too:
// a file with which the collector would not start is a fault. Changed settings that need a restart are named.
type reloads struct {
	col     *collector
	read    func() (configured, error) // the settings as they are now
	started map[string]string          // the settings as the collector was started with them

	one    sync.Mutex // reload at a time
	failed atomic.Bool
	at     atomic.Pointer[time.Time] // of the last that succeeded
}

// newReloads returns the reloads of a collector that was started with c. Until read is set, a reload uses c again.
func newReloads(col *collector, c config.Config, figures prometheus.Registerer) *reloads {
	r := &reloads{col: col, started: c.FileValues(),
		read: func() (configured, error) { return configured{Config: c}, nil }}
	now := time.Now()
	r.at.Store(&now)
	figures.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "bullet_metrics_config_last_reload_successful",
			Help: "1 if the last reload of rules and access files succeeded or there was none yet. 0 if it failed: the previous rules stay in use."},
			func() float64 { return map[bool]float64{false: 1}[r.failed.Load()] }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "bullet_metrics_config_last_reload_success_timestamp_seconds",
			Help: "Time of the last successful reload of rules and access files, or of the start, in seconds since the Unix epoch."},
			func() float64 { return float64(r.at.Load().UnixMilli()) / 1000 }))
	return r
}

// Reload implements httpapi.Reloader.
func (r *reloads) Reload() (needRestart []string, err error) {
	r.one.Lock()
	defer r.one.Unlock()
	needRestart, err = r.reload()
	r.failed.Store(err != nil)
	if err != nil {
		r.col.logger.Error("reload failed; the previous rules and access files remain in force", "error", err)
		return nil, err
	}
	now := time.Now()
	r.at.Store(&now)
	r.col.logger.Info("reloaded rules and access files")
	if len(needRestart) > 0 {
		r.col.logger.Warn("some changed settings require a restart", "settings", strings.Join(needRestart, ", "))
	}
	return needRestart, nil
}

func (r *reloads) reload() ([]string, error) {
	c, err := r.read()
	if err != nil {
		return nil, err
	}
	private := c.Secrets()
	senders, ofSenders := r.col.senders.Read()
	readers, ofReaders := r.col.readers.Read()
	if err := errors.Join(ofSenders, ofReaders, checkNamed(c.Config)); err != nil {
		return nil, private.HideError(c.lines.Locate(err))
	}
	if r.col.rules != nil {
		files, err := r.col.ruleFiles(c.Rules)
		if err == nil {
			err = r.col.rules.Reload(files) // the last that may fail
		}
		if err != nil {
			return nil, private.HideError(c.lines.Locate(err))
		}
	}
	senders.Use()
	readers.Use()
	needRestart := config.NeedRestart(r.started, c.FileValues())
	if readers.NeedsRestart() {
		needRestart = append(needRestart, "http.web_config_file (TLS or HTTP/2 was turned on or off)")
	}
	return needRestart, nil
}

// LastReload implements httpapi.Reloader.
func (r *reloads) LastReload() (successful bool, at time.Time) {
	return !r.failed.Load(), r.at.Load().UTC()
}

// run reloads at every signal until ctx ends.
func (r *reloads) run(ctx context.Context, signals <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-signals:
			_, _ = r.Reload() // which logs
		}
	}
}
