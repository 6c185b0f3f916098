package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/bench"
)

// memory is what 200,000 live series with an hour of slices take.
func memory(ctx context.Context, s settings) error {
	v, err := serve(ctx, s, "--limits-series-per-topology", "300000")
	if err != nil {
		return err
	}
	empty, err := v.Resident(ctx)
	if err != nil {
		return err
	}
	startMs := time.Now().Add(-2*time.Hour).UnixMilli() / 10_000 * 10_000
	sh := shape{hosts: 2000, metrics: 100, steps: int(360 * s.scale), step: 10 * time.Second, width: 10 * time.Second, streams: 4, perMessage: 50}
	if err := fill(ctx, v, startMs, sh, s.wire); err != nil {
		return err
	}
	full, err := v.Resident(ctx)
	if err != nil {
		return err
	}
	series := int64(sh.hosts * sh.metrics)
	say("memory of the series", "%d MiB over %d MiB empty: %d bytes a series", full>>20, empty>>20, (full-empty)/series)
	if err := v.sayMemory(ctx, series); err != nil {
		return err
	}
	if err := v.heap(s, "memory"); err != nil {
		return err
	}
	_, _, err = v.End()
	return err
}

// fill sends a shape's rows, and waits until all of its slices are there.
func fill(ctx context.Context, v *server, startMs int64, sh shape, wire string) error {
	f, err := bench.Connect(ctx, v.target, sh.rows(), sh.load(startMs, wire))
	if err != nil {
		return err
	}
	if err := f.Define(); err != nil {
		return err
	}
	if _, err := f.Send(ctx, sh.steps+sh.closing(), 1, time.Time{}); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return bench.Await(ctx, sh.samples(sh.steps), v.InSlices)
}

// sayMemory prints what a server's memory is made of.
func (v *server) sayMemory(ctx context.Context, series int64) error {
	body, err := v.Get(ctx, "/metrics")
	if err != nil {
		return err
	}
	figure := func(name string) int64 {
		for line := range strings.Lines(string(body)) {
			if rest, is := strings.CutPrefix(line, name+" "); is {
				n, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
				return int64(n)
			}
		}
		return 0
	}
	inUse, idle, released := figure("go_memstats_heap_inuse_bytes"), figure("go_memstats_heap_idle_bytes"), figure("go_memstats_heap_released_bytes")
	say("of it Go's heap: in use", "%d MiB: %d bytes a series", inUse>>20, inUse/series)
	goal, percent := figure("go_memstats_next_gc_bytes"), figure("go_gc_gogc_percent")
	say("of it Go's heap: live at the last collection", "%d MiB, about", goal*100/(100+percent)>>20)
	say("of it Go's heap: free, kept", "%d MiB", (idle-released)>>20)
	others := figure("go_memstats_stack_inuse_bytes") + figure("go_memstats_mspan_sys_bytes") + figure("go_memstats_gc_sys_bytes") + figure("go_memstats_other_sys_bytes")
	say("of it Go's stacks and tables", "%d MiB", others>>20)
	mapped, err := v.mappedBytes()
	if err == nil {
		say("of it files: the program, what is mapped", "%d MiB", mapped>>20)
	}
	return err
}

// mappedBytes is how much of the process' memory is files that are mapped.
func (v *server) mappedBytes() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.Command.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if rest, is := bytes.CutPrefix(line, []byte("RssFile:")); is {
			kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
			return kib << 10, err
		}
	}
	return 0, nil
}
