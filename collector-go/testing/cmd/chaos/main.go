// Command chaos plays the faults of docs/reliability.md against the built program and prints what came of them as a
// table, also as chaos.json. It exits with 1 where a promise was not kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/chaos"
)

// settings are the command line.
type settings struct {
	binary, out, rows, repository string
	scale                         float64
	seed                          uint64
	skipLong, debug, again        bool
}

func main() {
	var s settings
	flag.StringVar(&s.binary, "binary", "build/bullet-metrics", "the program under trial")
	flag.StringVar(&s.out, "out", "out/chaos", "where rows are played, and chaos.json is written")
	flag.StringVar(&s.rows, "rows", "", "numbers of rows such as 1,5,7; all where it is not set")
	flag.StringVar(&s.repository, "repository", ".", "root of the checkout, for rows that run tests of a package")
	flag.Float64Var(&s.scale, "scale", 1, "how much of each row is played; each at least once")
	flag.Uint64Var(&s.seed, "seed", 1, "what tries draw from")
	flag.BoolVar(&s.skipLong, "skip-long", false, "leave out the rows about time and memory")
	flag.BoolVar(&s.again, "again", false,
		"play rows again that this version has played whole, with this seed and at this scale; those of --rows are anyway")
	flag.BoolVar(&s.debug, "debug", false, "a line a try")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := play(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

var errBroken = errors.New("not every promise was kept")

func play(ctx context.Context, s settings) error {
	rows, err := chosen(s.rows)
	if err != nil {
		return err
	}
	for _, path := range []*string{&s.binary, &s.out, &s.repository} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.out, 0o750); err != nil {
		return err
	}
	record, err := chaos.ReadRecord(s.out, s.seed, s.scale)
	if err != nil {
		return err
	}
	version, err := versionOf(ctx, s.binary)
	if err != nil {
		return err
	}
	log := s.log()
	broken := false
	for _, row := range rows {
		if s.skipLong && row.Long {
			continue
		}
		if s.rows == "" && !s.again && record.Whole(row, version) {
			log.Info("already played", "row", row.Number, "fault", row.Fault, "version", version)
			continue
		}
		tries := row.Tries(s.scale)
		log.Info("playing", "row", row.Number, "fault", row.Fault, "tries", tries)
		ground := chaos.Ground{Binary: s.binary, Version: version,
			Dir: filepath.Join(s.out, fmt.Sprintf("row-%02d", row.Number)), Seed: s.seed, Scale: s.scale,
			Repository: s.repository, Log: log.With("row", row.Number)}
		result := chaos.Play(ctx, row, ground, tries)
		if ctx.Err() != nil {
			break // it was not played
		}
		broken = broken || !result.Kept()
		if err := record.Keep(result); err != nil {
			return err
		}
	}
	if err := chaos.WriteTable(os.Stdout, record.Faults); err != nil {
		return err
	}
	if broken {
		return errBroken
	}
	return ctx.Err()
}

func (s settings) log() *slog.Logger {
	options := &slog.HandlerOptions{}
	if s.debug {
		options.Level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

// versionOf is the version that a program reports: the last word of its --version.
func versionOf(ctx context.Context, binary string) (string, error) {
	said, err := exec.CommandContext(ctx, binary, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", binary, err)
	}
	words := strings.Fields(string(said))
	if len(words) == 0 {
		return "", fmt.Errorf("%s --version printed nothing", binary)
	}
	return words[len(words)-1], nil
}

// chosen are the rows that a list names; all for an empty one.
func chosen(list string) ([]chaos.Scenario, error) {
	all := chaos.Scenarios()
	if list == "" {
		return all, nil
	}
	var rows []chaos.Scenario
next:
	for _, text := range strings.Split(list, ",") {
		number, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("--rows %q: give numbers, such as 1,5,7", list)
		}
		for _, row := range all {
			if row.Number == number {
				rows = append(rows, row)
				continue next
			}
		}
		return nil, fmt.Errorf("--rows: there is no row %d", number)
	}
	return rows, nil
}
