package main

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// describeMachine is the machine that this runs on.
func describeMachine() (m goal.Machine, err error) {
	m.Cores = runtime.NumCPU()
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return m, err
	}
	m.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return m, err
	}
	m.Kernel = unix.ByteSliceToString(name.Release[:])
	text, err := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, is := strings.Cut(line, ":"); is && strings.TrimSpace(key) == "model name" {
			m.CPUModel = strings.TrimSpace(value)
			break
		}
	}
	return m, err
}

// loadAverage is the machine's over the last minute; 0 where that is not known.
func loadAverage() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// versions are what is measured, by name; what is not there is left out.
func (s *session) versions() map[string]string {
	versions := map[string]string{"Go": runtime.Version()}
	for name, program := range map[string]string{"bullet-metrics": s.program, goal.Base: s.base} {
		if out, err := exec.Command(program, "--version").Output(); err == nil {
			versions[name] = strings.TrimPrefix(strings.TrimSpace(strings.SplitN(string(out), "\n", 2)[0]),
				"bullet-metrics version ")
		}
	}
	for _, built := range []struct{ name, program, module string }{
		{"VictoriaMetrics", "victoria-metrics", "github.com/VictoriaMetrics/VictoriaMetrics"},
		{"InfluxDB", "influxd", "github.com/influxdata/influxdb"},
	} {
		if v := moduleVersion(filepath.Join(s.tools, built.program), built.module); v != "" {
			versions[built.name] = v
		}
	}
	if text, err := os.ReadFile(filepath.Join(s.tools, "questdb.version")); err == nil {
		versions["QuestDB"] = strings.TrimSpace(string(text))
	}
	return versions
}

// moduleVersion is a module's version in a program of Go's; "" where it is none of them.
func moduleVersion(path, module string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return ""
}
