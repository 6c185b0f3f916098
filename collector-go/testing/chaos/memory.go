package chaos

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ForgetPeak lets PeakBytes start again at what the process has now.
func (c *Collector) ForgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", c.Pid()), []byte("5"), 0)
}

// PeakBytes is the most memory that the process has had since ForgetPeak, as the kernel knows it.
func (c *Collector) PeakBytes() (int64, error) { return c.statusBytes("VmHWM") }

// statusBytes is a field of the process's status.
func (c *Collector) statusBytes(field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Pid()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, field+":"); is {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("the kernel does not say how much memory process %d has had", c.Pid())
}

// memoryTrial holds how much memory a fault costs to a limit.
type memoryTrial struct {
	c      *Collector
	before int64
}

func (c *Collector) startMemory() (memoryTrial, error) {
	return memoryTrial{c, c.ResidentBytes()}, c.ForgetPeak()
}

// grown is how much the process has grown by at most. What is beyond the limit is a broken promise.
func (m memoryTrial) grown(o *Outcome, what string, limit int64) error {
	peak, err := m.c.PeakBytes()
	if err != nil {
		return err
	}
	by := max(0, peak-m.before)
	if o.Measured = append(o.Measured, fmt.Sprintf("memory +%d MiB during %s (from %d MiB; at most +%d)", by>>20, what,
		m.before>>20, limit>>20)); by > limit {
		o.Broken = append(o.Broken, fmt.Sprintf("memory grew by %d MiB during %s, at most %d", by>>20, what, limit>>20))
	}
	return nil
}
