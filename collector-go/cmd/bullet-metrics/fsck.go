package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	gridrun "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// checked is what fsck prints.
type checked struct {
	Journal struct {
		Segments int   `json:"segments"`
		Batches  int   `json:"batches"`
		Samples  int   `json:"samples"`
		Bytes    int64 `json:"bytes"`
	} `json:"journal"`
	// Findings are the damaged places, Damaged counts them; of very many the first are listed.
	Findings []finding `json:"findings"`
	Damaged  int       `json:"damaged"`
	Repaired bool      `json:"repaired"` // the store is without damage now
}

// finding is one damaged place and its cost.
type finding struct {
	Where string `json:"where"` // start, journal, store or checkpoints
	File  string `json:"file"`
	What  string `json:"what"`
	// of the slices that are missing for it, or of the time in which samples came
	FromMs int64 `json:"from_ms,omitempty"`
	ToMs   int64 `json:"to_ms,omitempty"`
}

const maxListed = 1000

func newFsckCommand() *cobra.Command {
	var output outputForm
	var repair bool
	command := &cobra.Command{
		Use:   "fsck DIR",
		Short: "Check a data directory for damage, and repair its store",
		Long: `Check a data directory that no collector uses. Every record of the journal and every page of the store has a checksum.

Each damaged place is listed with its file and the time of the missing samples or slices. All other data remain
readable. A collector also starts on a damaged directory, and skips the same places.

The check also lists what prevents a start: files that a newer program wrote, and stores that are ahead of the journal
because its newest files were removed or emptied. Files of a newer program are not changed.

--repair rewrites the store without the damaged places, so that queries no longer warn. Stores that are ahead of the
journal keep their data and continue from the end of the journal.

The exit code is 0 if nothing is damaged, and 1 otherwise.`,
		Example: "  bullet-metrics fsck /var/lib/bullet-metrics\n  bullet-metrics fsck /var/lib/bullet-metrics --repair",
		Args:    oneArgument("data directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.check(); err != nil {
				return err
			}
			c := &checked{Findings: []finding{}}
			if err := c.directory(args[0], repair); err != nil {
				return fmt.Errorf("fsck: %w", err)
			}
			if err := output.write(cmd.OutOrStdout(), c, c.text()); err != nil {
				return err
			}
			if c.Damaged > 0 {
				return fmt.Errorf("fsck: %d damaged places in %s", c.Damaged, args[0])
			}
			return nil
		},
	}
	command.Flags().BoolVar(&repair, "repair", false, "rewrite the store without the damaged places")
	output.addFlag(command.Flags())
	return command
}

func (c *checked) directory(dir string, repair bool) error {
	if !isDirectory(filepath.Join(dir, "journal")) && !isDirectory(filepath.Join(dir, gridDir)) {
		return fmt.Errorf("%s is no data directory: neither journal nor %s is in it", dir, gridDir)
	}
	if holder := (disk.System{}).Holder(journal.LockFile(filepath.Join(dir, "journal"))); holder != "" {
		return fmt.Errorf("%s: in use by %s: stop that process or choose another directory", dir, holder)
	}
	if known, err := c.faults(dir, repair); !known || err != nil {
		return err
	}
	return errors.Join(c.journal(filepath.Join(dir, "journal")), c.store(filepath.Join(dir, gridDir), repair),
		c.checkpoints(dir))
}

// faults finds what keeps a collector from starting on the directory, and repairs what can be repaired. known is false
// where there is something that this program cannot read: then it touches nothing.
func (c *checked) faults(dir string, repair bool) (known bool, err error) {
	known = true
	all := dataFaults(dir, journalEnd)
	for _, fault := range all {
		c.find(finding{Where: "start", File: fault.file, What: fault.Error()})
		known = known && fault.repair != nil
	}
	if !known || !repair {
		return known, nil
	}
	for _, fault := range all {
		if err := fault.repair(); err != nil {
			return true, fmt.Errorf("repair %s: %w", fault.file, err)
		}
	}
	return true, nil
}

func (c *checked) find(f finding) {
	c.Damaged++
	if len(c.Findings) < maxListed {
		c.Findings = append(c.Findings, f)
	}
}

func (c *checked) journal(dir string) error {
	if !isDirectory(dir) {
		return nil
	}
	held, err := disk.System{}.Lock(filepath.Join(dir, "LOCK"), "fsck")
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	defer held.Close()
	report, err := journal.Check(dir, nil)
	c.Journal.Segments, c.Journal.Batches, c.Journal.Samples, c.Journal.Bytes = report.Segments, report.Batches,
		report.Samples, report.Bytes
	for _, f := range report.Findings {
		c.find(finding{Where: "journal", File: filepath.Join(dir, f.Segment), What: f.String(), FromMs: f.AfterMs,
			ToMs: f.BeforeMs})
	}
	c.Damaged += report.Damaged - len(report.Findings)
	return err
}

func (c *checked) store(dir string, repair bool) error {
	if !isDirectory(dir) {
		return nil
	}
	report := func(d *gridrun.DamageError) {
		c.find(finding{Where: "store", File: d.File, What: d.Error(), FromMs: d.FromMs, ToMs: d.ToMs})
	}
	if !repair {
		return grid.Check(disk.System{}, dir, report)
	}
	c.Repaired = true
	return grid.Repair(dir, keepEverything(), report)
}

// checkpoints holds every reader's states to their checksums; one that is damaged costs a longer replay.
func (c *checked) checkpoints(dir string) error {
	for _, path := range append(directoriesIn(filepath.Join(dir, "feeds")), filepath.Join(dir, "registry")) {
		if !isDirectory(path) {
			continue
		}
		if err := checkpoint.Check(path, nil, func(file string, damage error) {
			c.find(finding{Where: "checkpoints", File: file,
				What: fmt.Sprintf("%s: %v: the one before it is used, and the next start reads more of the journal",
					file, damage)})
		}); err != nil {
			return err
		}
	}
	return nil
}

func (c *checked) text() string {
	var out strings.Builder
	for _, f := range c.Findings {
		fmt.Fprintf(&out, "%s: %s\n", f.Where, f.What)
	}
	if more := c.Damaged - len(c.Findings); more > 0 {
		fmt.Fprintf(&out, "and %d more\n", more)
	}
	if c.Repaired {
		fmt.Fprintln(&out, "store: written again without what cannot be read; the damaged files stay beside it under names that end in .damaged")
	}
	fmt.Fprintf(&out, "journal: %d segments, %d batches, %d samples, %.1f MiB; %d damaged places in all\n",
		c.Journal.Segments, c.Journal.Batches, c.Journal.Samples, float64(c.Journal.Bytes)/(1<<20), c.Damaged)
	return out.String()
}
