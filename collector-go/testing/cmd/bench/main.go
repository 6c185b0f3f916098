// Command bench measures the collector beside its peers, in one run, and judges the ten goals: docs/benchmarks.md says
// what they are. It starts each server itself, one at a time, on loopback, in an empty directory, checks what it sent
// through queries, and keeps each measurement in bench.json as soon as it is made: a run that was interrupted goes on
// where it was. Whether a goal is met is a line of its table, not its exit code.
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
	"syscall"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/floor"
)

// session is the command line, and what all measurements share.
type session struct {
	program, base            string
	tools, repository        string
	out, dir                 string
	profiles                 string
	quick, list, table, docs bool
	scale                    float64
	rounds                   int
	seed                     uint64
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == floorCommand {
		fail(runFloor(os.Args[2:]))
		return
	}
	s := session{}
	flag.StringVar(&s.program, "program", "build/bullet-metrics", "the collector")
	flag.StringVar(&s.base, "base", "",
		"another build of the collector, measured by turns with it in the place of the peers; its differences are printed")
	flag.StringVar(&s.tools, "tools", "build/tools", "directory of the peers, as make bench-peers builds them")
	flag.StringVar(&s.repository, "repository", ".",
		"the repository, whose jars and captures the plugin is measured with")
	flag.StringVar(&s.out, "out", "out/bench", "directory of bench.json and growth.svg")
	flag.StringVar(&s.dir, "dir", "",
		"directory in which servers keep their data, removed after each measurement (default OUT/data)")
	flag.StringVar(&s.profiles, "profiles", "",
		"directory for CPU profiles of our collector, which cost it some; none where it is not set")
	flag.BoolVar(&s.quick, "quick", os.Getenv("BENCH_QUICK") == "1",
		"smaller sets and one round: about 20 minutes; so does BENCH_QUICK=1")
	flag.Float64Var(&s.scale, "scale", 1, "how much of each set is sent")
	flag.IntVar(&s.rounds, "rounds", 0, "rounds of which medians are taken (default 3, with --quick 1)")
	flag.Uint64Var(&s.seed, "seed", 1, "what the rows are made from")
	flag.BoolVar(&s.list, "list", false, "print the scenarios, and measure nothing")
	flag.BoolVar(&s.table, "table", false, "print the table of what was measured last, and measure nothing")
	flag.BoolVar(&s.docs, "docs", false,
		"write what was measured last into docs/benchmarks.md and docs/benchmarks/growth.svg, and measure nothing")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(),
			"bench [flags] [SCENARIO or number of a goal ...]   measures all that is missing, or these again\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fail(s.main(ctx, flag.Args()))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (s *session) main(ctx context.Context, wanted []string) error {
	if s.rounds == 0 {
		if s.rounds = 3; s.quick {
			s.rounds = 1
		}
	}
	if s.scale <= 0 || s.rounds < 1 {
		return errors.New("--scale must be above 0, and --rounds at least 1")
	}
	if s.dir == "" {
		s.dir = filepath.Join(s.out, "data")
	}
	switch {
	case s.list:
		return s.print()
	case s.table:
		return s.printTable()
	case s.docs:
		return s.writeDocs()
	}
	chosen, err := choose(s.scenarios(), wanted)
	if err != nil {
		return err
	}
	if s.base != "" {
		if chosen, err = s.besideBase(chosen); err != nil {
			return err
		}
	}
	return s.measure(ctx, chosen, len(wanted) > 0)
}

// sized is how many of something: full, or fewer with --quick, by the scale, and at least some.
func (s *session) sized(full, quick, least int) int {
	n := full
	if s.quick {
		n = quick
	}
	return max(least, int(float64(n)*s.scale))
}

// floorCommand begins the command line of the floor program.
const floorCommand = "floor"

// runFloor is the floor program.
func runFloor(arguments []string) error {
	var o floor.Options
	flags := flag.NewFlagSet(floorCommand, flag.ExitOnError)
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:4330", "where it takes streams")
	flags.StringVar(&o.HTTP, "http", "127.0.0.1:4331", "where it answers")
	flags.StringVar(&o.Log, "log", "floor.log", "file of its log")
	flags.Int64Var(&o.LogBytes, "log-bytes", floor.DefaultLogBytes, "bytes after which the log begins again")
	flags.IntVar(&o.Series, "series", 40_000, "series")
	flags.IntVar(&o.Slices, "slices", 60, "slices")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if rest := flags.Args(); len(rest) > 0 {
		return fmt.Errorf("floor takes no %s", strings.Join(rest, " "))
	}
	return floor.Run(o)
}
