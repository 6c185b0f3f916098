package datadir

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	gridrun "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Report is the result of Check.
type Report struct {
	Journal struct {
		Segments int   `json:"segments"`
		Batches  int   `json:"batches"`
		Samples  int   `json:"samples"`
		Bytes    int64 `json:"bytes"`
	} `json:"journal"`
	// Findings lists the damaged places, up to maxListed. Damaged is the number of all of them.
	Findings []Finding `json:"findings"`
	Damaged  int       `json:"damaged"`
	Repaired bool      `json:"repaired"` // the store was rewritten without damage
}

// Finding is a damaged place.
type Finding struct {
	Where string `json:"where"` // start, journal, store or checkpoints
	File  string `json:"file"`
	What  string `json:"what"`
	// FromMs and ToMs bound the missing slices, or the time in which the missing samples arrived.
	FromMs int64 `json:"from_ms,omitempty"`
	ToMs   int64 `json:"to_ms,omitempty"`
}

const maxListed = 1000

// Check reads every file of a data directory that no collector uses, and compares the checksums. If repair is true, it
// rewrites the store without the damaged places and resets stores that are ahead of the journal. It changes nothing if
// the directory has a fault that it cannot repair.
func Check(dir string, repair bool) (*Report, error) {
	r := &Report{Findings: []Finding{}}
	if !IsDirectory(filepath.Join(dir, Journal)) && !IsDirectory(filepath.Join(dir, Grid)) {
		return nil, fmt.Errorf("%s is not a data directory: it contains neither %s nor %s", dir, Journal, Grid)
	}
	if holder := Holder(dir); holder != "" {
		return nil, fmt.Errorf("%s: in use by %s: stop that process or choose another directory", dir, holder)
	}
	if known, err := r.faults(dir, repair); !known || err != nil {
		return r, err
	}
	return r, errors.Join(r.journal(filepath.Join(dir, Journal)), r.store(filepath.Join(dir, Grid), repair),
		r.checkpoints(dir))
}

// faults finds, and repairs, what prevents a start. known is false if something cannot be repaired.
func (r *Report) faults(dir string, repair bool) (known bool, err error) {
	known = true
	all := Faults(dir)
	for _, fault := range all {
		r.find(Finding{Where: "start", File: fault.File, What: fault.Err.Error()})
		known = known && fault.repair != nil
	}
	if !known || !repair {
		return known, nil
	}
	for _, fault := range all {
		if err := fault.repair(); err != nil {
			return true, fmt.Errorf("repair %s: %w", fault.File, err)
		}
	}
	return true, nil
}

func (r *Report) find(f Finding) {
	r.Damaged++
	if len(r.Findings) < maxListed {
		r.Findings = append(r.Findings, f)
	}
}

func (r *Report) journal(dir string) error {
	if !IsDirectory(dir) {
		return nil
	}
	held, err := disk.System{}.Lock(journal.LockFile(dir), "fsck")
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	defer held.Close()
	report, err := journal.Check(dir, nil)
	r.Journal.Segments, r.Journal.Batches, r.Journal.Samples, r.Journal.Bytes = report.Segments, report.Batches,
		report.Samples, report.Bytes
	for _, f := range report.Findings {
		r.find(Finding{Where: "journal", File: filepath.Join(dir, f.Segment), What: f.String(), FromMs: f.AfterMs,
			ToMs: f.BeforeMs})
	}
	r.Damaged += report.Damaged - len(report.Findings)
	return err
}

func (r *Report) store(dir string, repair bool) error {
	if !IsDirectory(dir) {
		return nil
	}
	found := func(d *gridrun.DamageError) {
		r.find(Finding{Where: "store", File: d.File, What: d.Error(), FromMs: d.FromMs, ToMs: d.ToMs})
	}
	if !repair {
		return grid.Check(disk.System{}, dir, found)
	}
	r.Repaired = true
	return grid.Repair(dir, KeepAll(), found)
}

// checkpoints verifies the checksums of all checkpoints. A damaged one only makes the next start read more of the
// journal.
func (r *Report) checkpoints(dir string) error {
	for _, path := range append(directories(filepath.Join(dir, Feeds)), filepath.Join(dir, Registry)) {
		if !IsDirectory(path) {
			continue
		}
		if err := checkpoint.Check(path, nil, func(file string, damage error) {
			r.find(Finding{Where: "checkpoints", File: file,
				What: fmt.Sprintf("%s: %v; the next start uses the previous checkpoint and reads more of the journal",
					file, damage)})
		}); err != nil {
			return err
		}
	}
	return nil
}

// Text formats the report for a person.
func (r *Report) Text() string {
	var out strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "%s: %s\n", f.Where, f.What)
	}
	if more := r.Damaged - len(r.Findings); more > 0 {
		fmt.Fprintf(&out, "%d more findings are not listed\n", more)
	}
	if r.Repaired {
		fmt.Fprintln(&out, "store: rewritten without the damaged places; the damaged files are kept under names that end in .damaged")
	}
	fmt.Fprintf(&out, "journal: %d segments, %d batches, %d samples, %.1f MiB; damaged places in total: %d\n",
		r.Journal.Segments, r.Journal.Batches, r.Journal.Samples, float64(r.Journal.Bytes)/(1<<20), r.Damaged)
	return out.String()
}
