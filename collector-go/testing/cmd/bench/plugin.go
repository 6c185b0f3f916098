package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// ourConsumer is the plugin's, as plugin-java/bench names it.
const ourConsumer = "ours"

// tenth is the part of the workers of 1,162 executors that a tick of the benchmark is of.
const tenth = 10

// hookIn is the row of HookCalls' table in which the hook does most.
const hookIn = "ours in FilterBolt"

func (s *session) plugin() scenario {
	warm, measured := s.sized(150, 60, 10), s.sized(50, 30, 10)
	return scenario{name: goal.Plugin, what: "the plugin's CPU in a worker", goals: []int{10},
		scale: fmt.Sprintf("%d ticks of a tenth of the workers after %d to warm up", measured, warm),
		subjects: []subject{{goal.Ours, func(ctx context.Context, dir string) (figures, error) {
			out, err := s.consumer(ctx, dir, warm, measured)
			if err == nil {
				out["hook_ns_per_record"], err = s.hook(ctx)
			}
			return out, err
		}}}}
}

// java is a command of a JVM with the finished plugin and its benchmarks.
func (s *session) java(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	jars := []string{filepath.Join(s.repository, "build", "bullet-metrics-storm.jar"),
		filepath.Join(s.repository, "plugin-java", "bench", "target", "benchmarks.jar")}
	for _, path := range jars {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%s was not built: make bench builds it", filepath.Base(path))
		}
	}
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	return exec.CommandContext(ctx, java, append([]string{"-cp", strings.Join(jars, ":")}, arguments...)...), nil
}

// consumer runs JMH, in a JVM of its own, and reads its result.
func (s *session) consumer(ctx context.Context, dir string, warm, measured int) (figures, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	program, err := filepath.Abs(s.program)
	if err != nil {
		return nil, err
	}
	captures, err := filepath.Abs(filepath.Join(s.repository, "topology", "captures"))
	if err != nil {
		return nil, err
	}
	result, log := filepath.Join(dir, "result.json"), filepath.Join(dir, "log")
	options := fmt.Sprintf("-Xmx1g -Dcollector=%s -Dcaptures=%s -Dlogs=%s", program, captures, dir)
	c, err := s.java(ctx, "org.openjdk.jmh.Main", "noharm.ConsumerBenchmark", "-p", "consumer="+ourConsumer, "-f", "1",
		"-wi", strconv.Itoa(warm), "-i", strconv.Itoa(measured), "-jvmArgsAppend", options, "-rf", "json",
		"-rff", result, "-o", log)
	if err != nil {
		return nil, err
	}
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("JMH: %w: %.300s", err, out)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		return nil, fmt.Errorf("JMH measured nothing: %w", err)
	}
	values, err := consumed(text)
	if err != nil {
		err = fmt.Errorf("%w; %s says why", err, log)
	}
	return values, err
}

// hook is what the latency hook takes for a record beyond a hook that does nothing, ns of CPU.
func (s *session) hook(ctx context.Context) (float64, error) {
	c, err := s.java(ctx, "io.github.bulletmetrics.storm.HookCalls")
	if err != nil {
		return 0, err
	}
	out, err := c.Output()
	if err != nil {
		return 0, fmt.Errorf("HookCalls: %w", err)
	}
	return hooked(string(out))
}

// hooked reads HookCalls' table: name, ns, and ns beyond a hook that does nothing.
func hooked(table string) (float64, error) {
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.TrimSpace(cells[1]) == hookIn {
			return strconv.ParseFloat(strings.TrimSpace(cells[3]), 64)
		}
	}
	return 0, fmt.Errorf("HookCalls prints no row %q", hookIn)
}

// consumed reads JMH's result.
func consumed(text []byte) (figures, error) {
	var results []struct {
		SecondaryMetrics map[string]struct{ Score float64 }
	}
	if err := json.Unmarshal(text, &results); err != nil {
		return nil, err
	}
	if len(results) != 1 {
		return nil, fmt.Errorf("JMH has %d results", len(results))
	}
	of := func(name string) float64 { return results[0].SecondaryMetrics[name].Score }
	ticks := of("ticks")
	if ticks == 0 {
		return nil, fmt.Errorf("JMH counted no tick: %.300s", text)
	}
	return figures{"cpu_us_per_tick": of("allCpuNs") / ticks * tenth / 1e3,
		"allocated_kb_per_tick":        of("allBytes") / ticks * tenth / 1e3,
		"caller_cpu_us_per_tick":       of("cpuNs") / ticks * tenth / 1e3,
		"caller_cpu_us_per_call":       of("cpuNs") / of("calls") / 1e3,
		"caller_allocated_kb_per_tick": of("bytes") / ticks * tenth / 1e3,
		"calls_per_tick":               of("calls") / ticks * tenth}, nil
}
