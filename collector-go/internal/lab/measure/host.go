package measure

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// HostTime is the time that all processors together have spent since boot.
type HostTime struct{ Idle, Total time.Duration }

// idleSince returns the idle ratio of the processors since an earlier reading; NaN if no time has passed.
func (h HostTime) idleSince(before HostTime) float64 {
	return float64(h.Idle-before.Idle) / float64(h.Total-before.Total)
}

// Proc reads CPU times and hardware facts from /proc.
type Proc struct{ fs procfs.FS }

// NewProc returns a reader of this machine's /proc.
func NewProc() (*Proc, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("measure this machine: %w", err)
	}
	return &Proc{fs}, nil
}

// Host reads /proc/stat. Waiting for a disk counts as idle.
func (p *Proc) Host() (HostTime, error) {
	stat, err := p.fs.Stat()
	if err != nil {
		return HostTime{}, err
	}
	c := stat.CPUTotal
	idle := c.Idle + c.Iowait
	total := idle + c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal // guest time is part of user time
	return HostTime{Idle: seconds(idle), Total: seconds(total)}, nil
}

// Process returns the user and system time of a process since its start; false if the process has ended.
func (p *Proc) Process(pid int) (time.Duration, bool) {
	stat, err := ProcessStat(pid)
	return seconds(stat.CPUTime()), err == nil
}

// ProcessStat reads /proc/PID/stat. It returns an error if the process has ended.
func ProcessStat(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
