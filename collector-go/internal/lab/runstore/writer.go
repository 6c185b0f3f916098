package runstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Writer writes a run directory. Whatever a method has written when it returns survives a crash: files are written to
// a temporary name, synced and renamed, and events are appended and synced. It is safe for concurrent use.
type Writer struct {
	dir string

	mu       sync.Mutex
	progress *os.File
}

// Create creates a run's directory, which must not contain a run yet.
func Create(dir string, experiment []byte, plan Plan, manifest Manifest) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, PlanFile)); err == nil {
		return nil, fmt.Errorf("%s already contains a run; give another directory with --out, or continue that run with tune run --resume %[1]s",
			dir)
	}
	w := &Writer{dir: dir}
	if err := errors.Join(writeSynced(filepath.Join(dir, ExperimentFile), experiment),
		w.SaveManifest(manifest)); err != nil {
		return nil, err
	}
	// The plan is written last, because its presence makes the directory a run's.
	if err := errors.Join(w.open(), w.save(PlanFile, plan)); err != nil {
		return nil, err
	}
	return w, nil
}

// Open opens an existing run's directory to continue it.
func Open(dir string) (*Writer, error) {
	w := &Writer{dir: dir}
	if _, err := os.Stat(filepath.Join(dir, PlanFile)); err != nil {
		return nil, fmt.Errorf("%s is %w: %w", dir, ErrNoRun, err)
	}
	return w, w.open()
}

// Close closes progress.jsonl. It may be called twice.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.progress == nil {
		return nil
	}
	err := w.progress.Close()
	w.progress = nil
	return err
}

// Dir returns the run's directory.
func (w *Writer) Dir() string { return w.dir }

// SaveManifest writes manifest.json and replaces an existing one.
func (w *Writer) SaveManifest(m Manifest) error { return w.save(ManifestFile, m) }

// SaveResult writes result.json and replaces an existing one.
func (w *Writer) SaveResult(r Result) error { return w.save(ResultFile, r) }

// BeginTrial creates a trial's directory and stores the settings that its topology is launched with.
func (w *Writer) BeginTrial(t PlannedTrial, settings []byte, arguments Arguments) error {
	dir := TrialDir(w.dir, t)
	for _, each := range []string{StepsDir, LogsDir} {
		if err := os.MkdirAll(filepath.Join(dir, each), 0o755); err != nil {
			return err
		}
	}
	return errors.Join(writeSynced(filepath.Join(dir, SettingsFile), settings),
		w.save(filepath.Join(TrialsDir, t.Name(), ArgumentsFile), arguments))
}

// FinishStep writes a step's file and then records it in progress.jsonl.
func (w *Writer) FinishStep(t PlannedTrial, s Step, atMs int64) error {
	text, err := encode(s)
	if err != nil {
		return fmt.Errorf("step %d of %s: %w", s.Number, t.Name(), err)
	}
	file := StepFile(t, s.Number)
	if err := writeSynced(filepath.Join(w.dir, file), text); err != nil {
		return err
	}
	return w.Record(Event{AtMs: atMs, Kind: StepFinished, Trial: t.Number, Launch: s.Launch,
		Step: s.Number, Attempt: s.Attempt, Value: &s.Value, File: file, SHA256: checksum(text), Verdict: s.Verdict})
}

// Record appends an event and returns when it is on disk.
func (w *Writer) Record(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("%s: %w", ProgressFile, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.progress == nil {
		return fmt.Errorf("%s: %w", filepath.Join(w.dir, ProgressFile), os.ErrClosed)
	}
	if _, err := w.progress.Write(append(line, '\n')); err != nil {
		return err
	}
	return w.progress.Sync()
}

// open opens progress.jsonl for appending. It first removes an incomplete last line, which a crash may have left.
func (w *Writer) open() error {
	path := filepath.Join(w.dir, ProgressFile)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = file.Truncate(int64(bytes.LastIndexByte(text, '\n') + 1))
	}
	if err = errors.Join(err, file.Sync(), disk.System{}.SyncDir(w.dir)); err != nil {
		return errors.Join(err, file.Close())
	}
	w.progress = file
	return nil
}

// readEvents reads progress.jsonl. An incomplete last line, which a crash may have left, is ignored.
func readEvents(path string) (events []Event, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines[:len(lines)-1] {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, i+1, err)
		}
		events = append(events, e)
	}
	return events, nil
}

func (w *Writer) save(name string, value any) error {
	text, err := encode(value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return writeSynced(filepath.Join(w.dir, name), text)
}

func encode(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", " ")
	return append(text, '\n'), err
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// writeSynced replaces a file atomically.
func writeSynced(path string, text []byte) error {
	return disk.WriteAside(disk.System{}, filepath.Dir(path), path, text)
}
