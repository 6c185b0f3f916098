package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Result is a scenario with what came of it.
type Result struct {
	Number int    `json:"row"`
	Fault  string `json:"fault"`
	Outcome
	Verdict string  `json:"verdict"`
	Seconds float64 `json:"seconds"`
	// Version is of the program under trial, Date when the scenario ended.
	Version string    `json:"version"`
	Date    time.Time `json:"date"`
}

// Record has the results of the scenarios that were played with one seed and at one scale, the newest of each scenario.
// It is stored in a file of its own, and chaos.json is a copy of the file that was written last. An interrupted run
// continues, and the results of scenarios that other processes play at the same time are kept.
type Record struct {
	dir    string
	Seed   uint64   `json:"seed"`
	Scale  float64  `json:"scale"`
	Faults []Result `json:"faults"`
}

// ReadRecord reads what was kept in a directory; an empty record where there is none.
func ReadRecord(dir string, seed uint64, scale float64) (*Record, error) {
	r := &Record{dir: dir, Seed: seed, Scale: scale}
	text, err := os.ReadFile(r.path())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to begin again", r.path(), err)
	}
	return r, nil
}

func (r *Record) path() string {
	return filepath.Join(r.dir, fmt.Sprintf("chaos-seed%d-scale%g.json", r.Seed, r.Scale))
}

// Whole reports whether a scenario is there with all its tries and every promise kept by this version of the program. A
// version that is -dirty names no program.
func (r *Record) Whole(scenario Scenario, version string) bool {
	return slices.ContainsFunc(r.Faults, func(f Result) bool {
		return f.Number == scenario.Number && f.Version == version && !strings.HasSuffix(version, "-dirty") && f.Kept() &&
			f.Tries >= scenario.Tries(r.Scale)
	})
}

// Keep writes what a scenario came to, over what it came to before.
func (r *Record) Keep(result Result) error {
	now, err := ReadRecord(r.dir, r.Seed, r.Scale) // another process may have played others
	if err != nil {
		return err
	}
	r.Faults = append(slices.DeleteFunc(now.Faults, func(f Result) bool { return f.Number == result.Number }), result)
	slices.SortFunc(r.Faults, func(a, b Result) int { return a.Number - b.Number })
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(writeAside(r.path(), text), writeAside(filepath.Join(r.dir, "chaos.json"), text))
}

// writeAside writes a file so that whoever ends the process leaves the one before it, or this.
func writeAside(path string, text []byte) error {
	aside := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(aside, append(text, '\n'), 0o640); err != nil {
		return err
	}
	return os.Rename(aside, path)
}
