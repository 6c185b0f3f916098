package datadir

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/checklist"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// OnlyFull reports whether an error has no other cause than a full disk. At the end of a collector that is no failure:
// the journal has all acknowledged samples, and is closed.
func OnlyFull(err error) bool {
	if several, joined := err.(interface{ Unwrap() []error }); joined {
		return !slices.ContainsFunc(several.Unwrap(), func(err error) bool { return !OnlyFull(err) })
	}
	if errors.Is(err, grid.ErrDiskFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		within := errors.Unwrap(err)
		return within == nil || OnlyFull(within)
	}
	return false
}

// CheckSpace checks that this user can write a data directory, and that the disk has space for limit bytes in it.
// limits describes them.
func CheckSpace(dir string, limit int64, limits string) checklist.Item {
	item := func(result checklist.Result, format string, arguments ...any) checklist.Item {
		return checklist.Item{Result: result, Text: "data_dir " + dir + ": " + fmt.Sprintf(format, arguments...)}
	}
	existing := Existing(dir)
	if info, err := os.Stat(existing); err == nil && !info.IsDir() {
		return item(checklist.Wrong, "%s is not a directory", existing)
	}
	if err := unix.Access(existing, unix.W_OK|unix.X_OK); err != nil {
		return item(checklist.Wrong, "this user cannot write %s: %v", existing, err)
	}
	free, size, err := disk.System{}.Free(existing)
	if err != nil {
		return item(checklist.Warning, "%v", err)
	}
	used, err := Bytes(dir)
	if err != nil {
		return item(checklist.Warning, "%v", err)
	}
	text := fmt.Sprintf("%s; it uses %s, and %s of %s are free on its disk", limits, gibibytes(used), gibibytes(int64(free)),
		gibibytes(int64(size)))
	if limit-used > int64(free) {
		return item(checklist.Warning, "%s: the disk is too small for the limits; lower them or free space", text)
	}
	if holder := Holder(dir); holder != "" {
		text += "; in use by " + holder
	}
	return item(checklist.OK, "%s", text)
}

// CheckData checks whether a collector can start on a data directory. It accepts one that a collector uses now.
func CheckData(dir string) (all []checklist.Item) {
	if !IsDirectory(dir) || Holder(dir) != "" {
		return nil
	}
	for _, fault := range Faults(dir) {
		all = append(all, checklist.Item{Result: checklist.Wrong, Text: fault.Err.Error()})
	}
	if len(all) == 0 {
		all = append(all, checklist.Item{Result: checklist.OK,
			Text: fmt.Sprintf("data_dir %s: the journal, stores and checkpoints are consistent", dir)})
	}
	return all
}

func gibibytes(n int64) string {
	if 0 < n && n < 1<<30 {
		return fmt.Sprintf("%.3g MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.3g GiB", float64(n)/(1<<30))
}
