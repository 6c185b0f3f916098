// Package runindex lists the runs in one directory for the page and serves their reports. The collector mounts it at
// /api/v1/runs and /runs/{name}/.
//
// The package owns the decision which files below the directory a browser may read: only a report, and never through a
// link that leads out of the directory. It must not know how a run is executed or what a report contains. Start reading
// at Reader.
package runindex

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// Bounds of a list. A directory is read at most once per `fresh`, because a page with many viewers would otherwise read
// hundreds of files a second. Only the newest maxRuns runs are listed.
const (
	fresh    = 10 * time.Second
	maxRuns  = 500
	maxBytes = 64 << 20 // of a report
)

// reports are where a run's report is, relative to the run's directory: `tune run` and the demo.
var reports = []string{path.Join(runstore.ReportDir, "report.html"), "report.html"}

// Run is a run in the list.
type Run struct {
	Name       string `json:"name"` // its directory's
	Experiment string `json:"experiment"`
	Title      string `json:"title"`
	// Started and Finished are RFC 3339 in UTC; Finished is "" where it is under way, was interrupted, or does not say.
	Started  string `json:"started"`
	Finished string `json:"finished,omitempty"`
	Verdict  string `json:"verdict"`          // "" until there is one
	Trials   string `json:"trials,omitempty"` // finished and failed, of all, in words
	// Capacity is a line a configuration.
	Capacity []string `json:"capacity"`
	// Report is the path of its report on this server; "" where there is none.
	Report string `json:"report,omitempty"`
}

// List is what /api/v1/runs answers.
type List struct {
	Dir        string   `json:"dir"`
	Runs       []Run    `json:"runs"` // the newest first
	Unreadable []string `json:"unreadable"`
	LeftOut    int      `json:"left_out"` // older ones
}

// Reader lists the runs of a directory and serves their reports. It never writes there, so it can read a directory in
// which a run is being measured. It is safe for concurrent use.
type Reader struct {
	dir    string
	logger *slog.Logger
	now    func() time.Time

	mu    sync.Mutex
	known List
	at    time.Time
}

// New returns a Reader of a directory. The directory need not exist yet: it has no runs until then.
func New(dir string, logger *slog.Logger) *Reader {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Reader{dir: dir, logger: logger, now: time.Now}
}

// List is the runs, at most 10 s old. A directory that is not there has none.
func (s *Reader) List() (List, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.at) < fresh {
		return s.known, nil
	}
	list, err := s.read()
	if err != nil {
		return list, fmt.Errorf("list the runs: %w", err)
	}
	s.known, s.at = list, s.now()
	return list, nil
}

func (s *Reader) read() (List, error) {
	list := List{Dir: s.dir, Runs: []Run{}, Unreadable: []string{}}
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return list, err
	}
	defer func() { _ = root.Close() }()
	found, unreadable, err := runstore.List(s.dir)
	if err != nil {
		return list, err
	}
	for _, problem := range unreadable {
		list.Unreadable = append(list.Unreadable, problem.Error())
	}
	for _, run := range found {
		if name := filepath.Base(run.Dir); within(root, name) {
			list.Runs = append(list.Runs, runOf(root, name, run))
		}
	}
	slices.SortStableFunc(list.Runs, func(a, b Run) int { return strings.Compare(b.Started, a.Started) })
	if len(list.Runs) > maxRuns {
		list.LeftOut = len(list.Runs) - maxRuns
		list.Runs = list.Runs[:maxRuns]
	}
	return list, nil
}

// within reports whether name is a directory of root's, and no link to elsewhere.
func within(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.IsDir()
}

func runOf(root *os.Root, name string, run *runstore.Run) Run {
	out := Run{Name: name, Experiment: run.Plan.Experiment, Title: run.Plan.Title,
		Started: moment(run.Manifest.StartedMs), Trials: run.TrialsText(), Capacity: run.Capacities()}
	if run.Result != nil {
		out.Finished, out.Verdict = moment(run.Result.FinishedMs), string(run.Result.Verdict)
	}
	out.Report = address(root, name)
	return out
}

// address is where a run's report is served, "" where it has none.
func address(root *os.Root, name string) string {
	for _, report := range reports {
		if info, err := root.Stat(path.Join(name, report)); err == nil && info.Mode().IsRegular() {
			return "/runs/" + url.PathEscape(name) + "/"
		}
	}
	return ""
}

func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// policy of a report: it is one file with its pictures and style inside, runs no script, and may not reach this
// server's API.
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// ServeHTTP answers GET /runs/{name}/ with the run's report.
func (s *Reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	report, at, err := s.report(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoRun):
		http.Error(w, "This run does not exist or has no report. /api/v1/runs lists the runs; bullet-metrics tune report DIR writes the report of a run.",
			http.StatusNotFound)
	case err != nil:
		s.logger.Warn("report of a run could not be read", "run", name, "error", err)
		http.Error(w, "The report could not be read; see the log of the collector.", http.StatusInternalServerError)
	default:
		h.Set("Content-Type", "text/html; charset=utf-8")
		http.ServeContent(w, r, "", at, bytes.NewReader(report))
	}
}

var errNoRun = errors.New("not the name of a run")

// report reads a run's report. The directory is a root that neither dots nor links lead out of.
func (s *Reader) report(name string) ([]byte, time.Time, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return nil, time.Time{}, errNoRun
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer func() { _ = root.Close() }()
	for _, report := range reports {
		info, err := root.Stat(path.Join(name, report))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if info.Size() > maxBytes {
			return nil, time.Time{}, fmt.Errorf("%s of %s has %d bytes; the maximum is %d", report, name,
				info.Size(), maxBytes)
		}
		text, err := root.ReadFile(path.Join(name, report))
		return text, info.ModTime(), err
	}
	return nil, time.Time{}, errNoRun
}
