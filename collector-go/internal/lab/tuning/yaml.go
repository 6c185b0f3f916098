package tuning

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// YAML returns the configuration as Bullet's settings, with the uncertainty as comments.
func (s *Sizing) YAML() string {
	var out strings.Builder
	comment := func(format string, args ...any) { fmt.Fprintf(&out, "# "+format+"\n", args...) }
	load := fmt.Sprintf(
		"Bullet on Storm for %s records/s and %d %s queries at an average filter latency of at most %g ms",
		Digits(s.RecordsPerS), s.Queries, s.Class, float64(s.LimitMs))
	if s.queriesMeasured {
		comment("%s,", load)
		comment("with %s of the capacity for queries left free.", ConfidencePercent(float64(s.Headroom)))
	} else {
		comment("%s.", load)
	}
	comment("Each parallelism is an estimate, rounded up. The comment after it is the %s interval for one cluster.",
		ConfidencePercent(s.Confidence))
	for _, o := range s.Outside {
		comment("OUTSIDE THE MEASUREMENTS: %s.", o)
	}
	comment("The whole topology: %s CPU cores, %s MiB of memory; %s (%s).", s.CPUCores.text(), s.MemoryMiB.text(),
		s.MachinesText(), s.Machine.text())
	for _, n := range s.Notes {
		comment("Note: %s.", n)
	}
	for _, setting := range s.Settings {
		fmt.Fprintf(&out, "%s: %s%s\n", setting.Key, setting.text(), setting.comment())
	}
	return out.String()
}

// MachinesText returns the number of machines as text, "9 machines".
func (s *Sizing) MachinesText() string {
	if s.Machines == 0 {
		return "an unknown number of machines"
	}
	return Counted(s.Machines, "machine")
}

func (s Setting) text() string {
	if s.integer {
		return strconv.FormatFloat(s.Value, 'f', 0, 64)
	}
	text := strconv.FormatFloat(s.Value, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func (s Setting) comment() string {
	var parts []string
	switch {
	case s.Low.Known() && s.High.Known():
		parts = append(parts, fmt.Sprintf("%.0f to %.0f", math.Floor(float64(s.Low)), math.Ceil(float64(s.High))))
	case s.Low.Known():
		parts = append(parts, fmt.Sprintf("at least %.0f, no upper bound", math.Floor(float64(s.Low))))
	case s.High.Known():
		parts = append(parts, fmt.Sprintf("at most %.0f", math.Ceil(float64(s.High))))
	case s.integer && !strings.HasPrefix(s.Reason, "as "):
		parts = append(parts, "interval unknown")
	}
	if s.Reason != "" {
		parts = append(parts, s.Reason)
	}
	if unit := s.unit(); unit != "" {
		parts = append(parts, unit)
	}
	if len(parts) == 0 {
		return ""
	}
	return "  # " + strings.Join(parts, "; ")
}

func (s Setting) unit() string {
	switch {
	case strings.HasSuffix(s.Key, ".cpu.load"):
		return "100 is one core"
	case strings.Contains(s.Key, ".memory."):
		return "MiB per instance"
	}
	return ""
}

// wholeFrom is the value from which on an estimate is formatted without decimals.
const wholeFrom = 100

func (e Estimate) text() string {
	if !e.Value.Known() {
		return "an unknown number of"
	}
	value, low, high := grouped(math.Round(float64(e.Value))), grouped(math.Floor(math.Max(0, float64(e.Low)))),
		grouped(math.Ceil(float64(e.High)))
	if e.Value < wholeFrom {
		value, low, high = Digits(e.Value), Digits(max(0, e.Low)), Digits(e.High)
	}
	if !e.Low.Known() || !e.High.Known() {
		return value
	}
	return fmt.Sprintf("%s (%s to %s)", value, low, high)
}

func (m Machine) text() string {
	if !m.known() {
		return "the machine is unknown"
	}
	text := fmt.Sprintf("%g cores", float64(m.CPUCores))
	if m.MemoryMiB.Known() {
		text += fmt.Sprintf(", %s MiB", Digits(m.MemoryMiB))
	}
	return text + " each"
}
