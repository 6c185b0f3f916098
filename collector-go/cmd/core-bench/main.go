// Command core-bench measures what the collector's core costs: the CPU, memory and disk of a server that takes a known load, until all of
// it is on disk in slices and answers, and the CPU of queries over it. It starts each server itself, on loopback, in an empty directory.
// docs/benchmarks/core.md explains how to read the figures; nothing passes or fails but the counts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

// settings are the command line.
type settings struct {
	program, victoria string
	wire              string
	dir               string
	pprof             string
	scale             float64
}

// scenarios are what can be measured, in the order in which they are run.
var scenarios = []struct {
	name, what string
	run        func(context.Context, settings) error
}{
	{"own-slice", "(a) TSBS rows of 4,000 hosts every 10 s: each sample its own slice", ownSlice},
	{"sixty-to-one", "(b) TSBS rows of 4,000 hosts every 1 s into slices of 60 s", sixtyToOne},
	{"small-messages", "(c) 500 streams, 100 samples of 1 s a message, slices of 10 s", smallMessages},
	{"paced", "500 workers, 100 samples a second each, sent as they fall due over 4 streams", paced},
	{"day", "a day of 500 workers: disk, and CPU of four 24 h queries", day},
	{"memory", "memory of 200,000 series with an hour of slices", memory},
	{"start", "start with 1,000,000 series", start},
	{"victoria-own-slice", "the rows of (a) into VictoriaMetrics, as Influx lines", victoriaOwnSlice},
	{"victoria-day", "the day into VictoriaMetrics, as Influx lines", victoriaDay},
}

func main() {
	var s settings
	flag.StringVar(&s.program, "program", "build/bullet-metrics", "the collector")
	flag.StringVar(&s.victoria, "victoria", "build/tools/victoria-metrics", "VictoriaMetrics, for the scenarios that are named after it")
	flag.StringVar(&s.wire, "wire", "blocks", "what samples are sent as: blocks, or columns as before them")
	flag.StringVar(&s.dir, "dir", "out/core-bench", "where servers keep their data; emptied by each scenario")
	flag.StringVar(&s.pprof, "profiles", "", "directory for a CPU profile of each scenario; none where it is not set")
	flag.Float64Var(&s.scale, "scale", 1, "how much of each scenario's load is sent")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "core-bench [flags] SCENARIO ...   (all: every one)")
		for _, sc := range scenarios {
			fmt.Fprintf(flag.CommandLine.Output(), "  %-20s %s\n", sc.name, sc.what)
		}
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, s, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "core-bench:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, s settings, wanted []string) error {
	if len(wanted) == 0 {
		return errors.New("name a scenario, or all; --help lists them")
	}
	known := map[string]bool{"all": true}
	for _, sc := range scenarios {
		known[sc.name] = true
	}
	for _, name := range wanted {
		if !known[name] {
			return fmt.Errorf("there is no scenario %q; --help lists them", name)
		}
	}
	asked := " " + strings.Join(wanted, " ") + " "
	for _, sc := range scenarios {
		if !strings.Contains(asked, " all ") && !strings.Contains(asked, " "+sc.name+" ") {
			continue
		}
		fmt.Printf("\n%s: %s\n", sc.name, sc.what)
		own := s
		own.dir = filepath.Join(s.dir, sc.name)
		if err := os.RemoveAll(own.dir); err != nil {
			return err
		}
		err := sc.run(ctx, own)
		endAll()
		if err != nil {
			return fmt.Errorf("%s: %w", sc.name, err)
		}
		if err := os.RemoveAll(own.dir); err != nil {
			return err
		}
	}
	return nil
}

// say prints one figure.
func say(what, format string, args ...any) {
	fmt.Printf("  %-44s %s\n", what, fmt.Sprintf(format, args...))
}
